#include "sim/simulation.h"

#include <algorithm>
#include <random>
#include <sstream>

#include "base/error.h"

#undef CHECK  // doctest's from here on
#include <doctest/doctest.h>

using namespace runahead;

namespace {

// 1 MB records on a 1 GB/s link: one read takes 1 ms.
SimulationOptions options_of(const char* policy, int32_t slots) {
  SimulationOptions options;
  options.policy = parse_policy(policy);
  options.cost.link_bytes_per_s = 1e9;
  options.cost.n_readers = 1;
  options.slots = {slots};
  options.record_bytes = {1'000'000};
  return options;
}

RoutingTrace random_trace(int32_t n_step, int32_t n_request, int32_t n_layer, int32_t n_expert,
                          int32_t n_used, uint32_t seed) {
  RoutingTrace trace{n_step, n_request, n_layer, n_expert, n_used, {}};
  std::mt19937 rng(seed);
  std::vector<int32_t> all(static_cast<size_t>(n_expert));
  for (int32_t row = 0; row < n_step * n_request * n_layer; ++row) {
    for (int32_t e = 0; e < n_expert; ++e) {
      all[static_cast<size_t>(e)] = e;
    }
    for (int32_t i = 0; i < n_used; ++i) {
      const auto j = static_cast<size_t>(i) + rng() % static_cast<uint32_t>(n_expert - i);
      std::swap(all[static_cast<size_t>(i)], all[j]);
      trace.experts.push_back(all[static_cast<size_t>(i)]);
    }
  }
  return trace;
}

// The timeline as readable text, in the order of time.
std::string text_of(const Timeline& timeline) {
  struct Line {
    double at_ms;
    std::string text;
  };
  std::vector<Line> lines;
  for (const Timeline::Interval& interval : timeline.intervals) {
    std::ostringstream out;
    out << interval.begin_ms << "-" << interval.end_ms << " ms: step " << interval.step;
    switch (interval.what) {
      case Timeline::What::kFront: out << " front"; break;
      case Timeline::What::kHead: out << " head"; break;
      case Timeline::What::kFetch:
        out << " layer " << interval.layer << " fetch e" << interval.expert << " by reader "
            << interval.lane;
        break;
      case Timeline::What::kGroup:
        out << " layer " << interval.layer << " group of";
        for (const int32_t request : interval.requests) {
          out << " r" << request;
        }
    }
    lines.push_back({interval.end_ms, out.str()});
  }
  for (const Timeline::Decision& decision : timeline.decisions) {
    std::ostringstream out;
    const Acquired& acquired = decision.issued.acquired;
    const ExpertId id = decision.issued.id;
    const char* outcome = acquired.outcome == Outcome::kHit    ? "hit"
                          : acquired.outcome == Outcome::kMiss ? "miss"
                                                               : "joined";
    out << decision.at_ms << " ms: step " << decision.step << " layer " << id.layer << " r"
        << decision.request << " " << outcome << " e" << id.expert << " -> slot "
        << to_int(acquired.slot);
    if (acquired.evicted) {
      out << " (evicts e" << acquired.evicted->expert << " of layer " << acquired.evicted->layer
          << ")";
    }
    lines.push_back({decision.at_ms, out.str()});
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const Line& a, const Line& b) { return a.at_ms < b.at_ms; });
  std::string text;
  for (const Line& line : lines) {
    text += line.text + "\n";
  }
  return text;
}

std::string refusal(const RoutingTrace& trace, const SimulationOptions& options) {
  try {
    Simulation simulation(trace, options);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kInvalid);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("one step as text") {
  // Two requests, two layers, two of four experts, as few slots as the deadlock rule allows. r1
  // joins the read of e1, and computes layer 0 while r0's experts of layer 1 are read.
  const RoutingTrace trace{1,
                           2,
                           2,
                           4,
                           2,
                           {0, 1, 2, 3,    // r0: layer 0, layer 1
                            1, 2, 0, 3}};  // r1
  SimulationOptions options = options_of("bevy", 4);
  options.cost.front_ms = 0.5;
  options.cost.group_ms = 1;
  options.cost.head_ms = 0.25;
  options.record_timeline = true;
  Simulation simulation(trace, options);
  const SimulatedStep step = simulation.step();
  CHECK(text_of(simulation.timeline()) == R"(0-0.5 ms: step 0 front
0.5 ms: step 0 layer 0 r0 miss e0 -> slot 0
0.5 ms: step 0 layer 0 r0 miss e1 -> slot 1
0.5 ms: step 0 layer 0 r1 joined e1 -> slot 1
0.5 ms: step 0 layer 0 r1 miss e2 -> slot 2
0.5-1.5 ms: step 0 layer 0 fetch e0 by reader 1
1.5-2.5 ms: step 0 layer 0 fetch e1 by reader 1
2.5-3.5 ms: step 0 layer 0 fetch e2 by reader 1
2.5-3.5 ms: step 0 layer 0 group of r0
3.5 ms: step 0 layer 1 r0 miss e2 -> slot 3
3.5 ms: step 0 layer 1 r0 miss e3 -> slot 0 (evicts e0 of layer 0)
3.5-4.5 ms: step 0 layer 1 fetch e2 by reader 1
3.5-4.5 ms: step 0 layer 0 group of r1
4.5 ms: step 0 layer 1 r1 miss e0 -> slot 2 (evicts e2 of layer 0)
4.5 ms: step 0 layer 1 r1 joined e3 -> slot 0
4.5-5.5 ms: step 0 layer 1 fetch e3 by reader 1
5.5-6.5 ms: step 0 layer 1 fetch e0 by reader 1
5.5-6.5 ms: step 0 layer 1 group of r0
6.5-7.5 ms: step 0 layer 1 group of r1
7.5-7.75 ms: step 0 head
)");
  CHECK(step.n_fetched == 6);
  CHECK(step.n_joined == 2);
}

TEST_CASE("alone, a request takes the sum of its reads and groups") {
  const RoutingTrace trace = random_trace(1, 1, 5, 8, 2, 1);
  SimulationOptions options = options_of("bevy", 40);
  options.cost.front_ms = 3;
  options.cost.group_ms = 1;
  options.cost.expert_ms = 0.25;
  options.cost.job_ms = 0.5;
  options.cost.head_ms = 4;
  options.cost.link_latency_ms = 0.125;
  const SimulatedStep step = Simulation(trace, options).step();
  CHECK(step.n_fetched == 10);
  CHECK(step.link_ms == doctest::Approx(10 * 1.125));
  CHECK(step.compute_ms == doctest::Approx(3 + 5 * (1 + 2 * 0.25 + 0.5) + 4));
  CHECK(step.step_ms == doctest::Approx(step.link_ms + step.compute_ms));
  CHECK(step.both_ms == 0);
  CHECK(step.groups_of_size == std::vector<int32_t>{0, 5});
}

TEST_CASE("an expert shared within a group is computed once") {
  const RoutingTrace trace{1, 2, 1, 4, 2, {0, 1, 1, 2}};
  SimulationOptions options = options_of("lockstep-lfu", 4);
  options.cost.expert_ms = 1;
  options.cost.job_ms = 10;
  CHECK(Simulation(trace, options).step().compute_ms == doctest::Approx(3 + 2 * 10));
}

TEST_CASE("readers share the bandwidth and overlap their latencies") {
  const RoutingTrace trace{1, 1, 1, 4, 4, {0, 1, 2, 3}};
  SimulationOptions options = options_of("bevy", 4);
  options.cost.link_latency_ms = 0.5;
  options.cost.n_readers = 4;
  CHECK(Simulation(trace, options).step().link_ms == doctest::Approx(0.5 + 4));
  options.cost.n_readers = 3;  // three, then one alone
  CHECK(Simulation(trace, options).step().link_ms == doctest::Approx(0.5 + 3 + 0.5 + 1));
}

TEST_CASE("a late reader shares the bandwidth with those before it") {
  // Classes of 1 MB and 3 MB: both start at 0, the short one ends at 2 ms, the long one at 4 ms.
  CostModel cost;
  cost.link_bytes_per_s = 1e9;
  cost.n_readers = 2;
  VirtualLink link(cost);
  std::vector<VirtualLink::Read> ended;
  link.start({{0, 0}, SlotId{0}, RequestId{0}}, 1'000'000, 0, 0);
  link.start({{0, 1}, SlotId{1}, RequestId{0}}, 3'000'000, 0, 0);
  CHECK_FALSE(link.has_free_reader());
  CHECK(link.next_change_ms() == doctest::Approx(2));
  link.advance(2, ended);
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].fetch.id.expert == 0);
  CHECK(ended[0].reader == 0);
  CHECK(link.next_change_ms() == doctest::Approx(2));
  link.advance(0.5, ended);
  CHECK(link.next_change_ms() == doctest::Approx(1.5));
  link.advance(1.5, ended);
  CHECK(ended.size() == 2);
  CHECK_FALSE(link.is_busy());
}

TEST_CASE("a link that serves in order gives all of itself to the read that began first") {
  CostModel cost;
  cost.link_bytes_per_s = 1e9;
  cost.link_in_order = true;
  cost.link_latency_ms = 0.5;
  cost.n_readers = 3;
  VirtualLink link(cost);
  std::vector<VirtualLink::Read> ended;
  for (int32_t expert = 0; expert < 3; ++expert) {
    link.start({{0, expert}, SlotId{expert}, RequestId{0}}, 1'000'000, 0, 0);
  }
  double now = 0;
  std::vector<double> ends;
  while (link.is_busy()) {
    const double ms = link.next_change_ms();
    now += ms;
    const size_t n_before = ended.size();
    link.advance(ms, ended);
    if (ended.size() > n_before) {
      ends.push_back(now);
      if (ends.size() == 1) {  // in the first one's place, but last in the order
        link.start({{0, 3}, SlotId{3}, RequestId{0}}, 1'000'000, 0, now);
      }
    }
  }
  REQUIRE(ended.size() == 4);
  for (size_t i = 0; i < 4; ++i) {
    CHECK(ended[i].fetch.id.expert == static_cast<int32_t>(i));
    CHECK(ends[i] == doctest::Approx(1.5 + static_cast<double>(i)));
  }
}

TEST_CASE("with every expert resident a step is one group per layer") {
  const RoutingTrace once = random_trace(1, 4, 6, 8, 2, 3);
  RoutingTrace trace = once;
  trace.n_step = 2;
  trace.experts.insert(trace.experts.end(), once.experts.begin(), once.experts.end());
  for (const char* policy : {"bevy", "lockstep-lfu"}) {
    SimulationOptions options = options_of(policy, 48);
    options.cost.group_ms = 1;
    const std::vector<SimulatedStep> steps = Simulation(trace, options).run();
    CHECK(steps[0].n_fetched > 0);
    CHECK(steps[1].n_fetched == 0);
    CHECK(steps[1].n_hit == 4 * 6 * 2);
    CHECK(steps[1].groups_of_size == std::vector<int32_t>{0, 0, 0, 0, 6});
    CHECK(steps[1].step_ms == doctest::Approx(6));
  }
}

TEST_CASE("every expert asked for is a hit, a join or a fetch") {
  RoutingTrace trace = random_trace(12, 5, 4, 10, 3, 4);
  std::mt19937 rng(5);
  std::vector<float> scores(size_t{12} * 5 * 4 * 3 * 10);
  std::generate(scores.begin(), scores.end(),
                [&] { return static_cast<float>(rng() % 1000) / 1000; });
  trace.n_lookahead = 3;
  trace.lookahead = ScoreArray(std::span<const float>(scores));
  trace.probabilities = ScoreArray(std::span<const float>(scores).first(size_t{12} * 5 * 4 * 10));
  for (const auto& [name, policy] : presets()) {
    SimulationOptions options = options_of(name.c_str(), 17);
    options.cost.group_ms = 0.7;
    options.cost.n_readers = 3;
    Simulation simulation(trace, options);
    while (!simulation.finished()) {
      const SimulatedStep step = simulation.step();
      CHECK(step.n_hit + step.n_joined + step.n_fetched - step.n_prefetched == 5 * 4 * 3);
      CHECK((step.n_prefetched == 0 || policy.prefetch != "none"));
      CHECK(step.step_ms <= step.compute_ms + step.link_ms - step.both_ms + 1e-6);
      CHECK(step.step_ms >= std::max(step.compute_ms, step.link_ms) - 1e-6);
      int32_t n_job = 0;
      for (size_t size = 0; size < step.groups_of_size.size(); ++size) {
        n_job += static_cast<int32_t>(size) * step.groups_of_size[size];
      }
      CHECK(n_job == 5 * 4);
      simulation.cache().check_integrity();
    }
  }
}

TEST_CASE("runahead beats lockstep where compute and reads can overlap") {
  const RoutingTrace trace = random_trace(20, 8, 12, 32, 4, 5);
  const auto total = [&](const char* policy) {
    SimulationOptions options = options_of(policy, 120);
    options.cost.group_ms = 4;
    options.cost.job_ms = 1;
    options.cost.n_readers = 8;
    double ms = 0;
    for (const SimulatedStep& step : Simulation(trace, options).run()) {
      ms += step.step_ms;
    }
    return ms;
  };
  CHECK(total("bevy") < 0.9 * total("lockstep-lfu"));
}

TEST_CASE("the same input gives the same output to the last bit") {
  const RoutingTrace trace = random_trace(6, 4, 5, 12, 3, 6);
  SimulationOptions options = options_of("bevy", 14);
  options.cost.group_ms = 0.3;
  options.cost.expert_ms = 0.1;
  options.cost.link_latency_ms = 0.07;
  options.cost.n_readers = 3;
  options.record_timeline = true;
  Simulation a(trace, options), b(trace, options);
  const std::vector<SimulatedStep> x = a.run(), y = b.run();
  for (size_t i = 0; i < x.size(); ++i) {
    CHECK(x[i].step_ms == y[i].step_ms);
    CHECK(x[i].both_ms == y[i].both_ms);
    CHECK(x[i].groups_of_size == y[i].groups_of_size);
  }
  CHECK(text_of(a.timeline()) == text_of(b.timeline()));
}

TEST_CASE("requests may come and go between steps") {
  RoutingTrace trace = random_trace(3, 2, 2, 4, 2, 7);
  const auto row = static_cast<size_t>(2 * 2);  // numbers of one request in one step
  trace.experts[0 * row] = -1;                  // step 0: only request 1
  trace.experts[2 * row] = -1;                  // step 1: nobody
  trace.experts[3 * row] = -1;
  SimulationOptions options = options_of("bevy", 8);
  options.cost.front_ms = 1;
  const std::vector<SimulatedStep> steps = Simulation(trace, options).run();
  CHECK(steps[0].n_request == 1);
  CHECK(steps[1].n_request == 0);
  CHECK(steps[1].step_ms == 0);
  CHECK(steps[2].n_request == 2);
}

TEST_CASE("what does not fit is refused with the numbers") {
  const RoutingTrace trace = random_trace(1, 3, 2, 8, 2, 8);
  CHECK(refusal(trace, options_of("bevy", 5)).find("3 requests that use 2 experts need 6 slots") !=
        std::string::npos);
  CHECK(refusal(trace, options_of("bevy", 6)) == "");

  RoutingTrace bad = trace;
  bad.experts[5] = 8;
  CHECK(refusal(bad, options_of("bevy", 6)) ==
        "routing trace: step 0 request 1 layer 0: expert 8 is not in 0 .. 7");
  bad.experts[5] = bad.experts[4];
  CHECK(refusal(bad, options_of("bevy", 6)).find("is named twice") != std::string::npos);
  bad.experts.pop_back();
  CHECK(refusal(bad, options_of("bevy", 6)) ==
        "routing trace: has 11 expert numbers, its shape needs 12");

  SimulationOptions options = options_of("bevy", 6);
  options.cost.link_bytes_per_s = 0;
  CHECK(refusal(trace, options) ==
        "cost model: link_bytes_per_s is 0.000000, must be a number > 0");
  options = options_of("bevy", 6);
  options.class_of_layer = {0, 1};
  CHECK(refusal(trace, options) == "simulation: class_of_layer names class 1, there are 1");
  options = options_of("bevy", 6);
  options.cost.interference = -0.5;
  CHECK(refusal(trace, options) == "cost model: interference is -0.500000, must be a number >= 0");
}
