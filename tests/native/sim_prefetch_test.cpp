// Prefetches on a virtual clock: they use idle time, share the link, are counted, and hold slots.

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "cache/eviction.h"
#include "sim/simulation.h"

#undef CHECK  // doctest's from here on
#include <doctest/doctest.h>

using namespace runahead;

namespace {

// A request that needs expert 0 in every layer, and whose lookahead is sure of `guess` for the next
// layer. One read takes 1 ms, a group 10.
struct Case {
  explicit Case(int32_t guess, int32_t n_layer = 2, int32_t n_step = 1) {
    trace.n_step = n_step;
    trace.n_layer = n_layer;
    trace.experts.assign(static_cast<size_t>(n_step * n_layer), 0);
    trace.n_lookahead = 1;
    for (int32_t job = 0; job < n_step * n_layer; ++job) {
      for (int32_t e = 0; e < trace.n_expert; ++e) {
        scores.push_back(e == guess ? 1.0F : 0.0F);
      }
    }
    trace.lookahead = ScoreArray(std::span<const float>(scores));
    options.policy = parse_policy("lockstep////next-router");
    options.cost.link_bytes_per_s = 1e9;
    options.cost.n_readers = 1;
    options.cost.group_ms = 10;
    options.slots = {n_layer * trace.n_expert};
    options.record_bytes = {1'000'000};
  }
  std::vector<float> scores;
  RoutingTrace trace{1, 1, 1, 4, 1, {}};
  SimulationOptions options;
};

}  // namespace

TEST_CASE("a right guess is read while the device computes") {
  const Case right(0);
  const SimulatedStep step = Simulation(right.trace, right.options).step();
  CHECK(step.step_ms == doctest::Approx(1 + 10 + 10));
  CHECK(step.n_fetched == 2);
  CHECK(step.n_prefetched == 1);
  CHECK(step.n_hit == 1);
  CHECK(step.link_ms == doctest::Approx(2));
  CHECK(step.both_ms == doctest::Approx(1));
}

TEST_CASE("a wrong guess costs a read and saves nothing") {
  const Case wrong(1);
  const SimulatedStep step = Simulation(wrong.trace, wrong.options).step();
  CHECK(step.step_ms == doctest::Approx(1 + 10 + 1 + 10));
  CHECK(step.n_fetched == 3);
  CHECK(step.n_prefetched == 1);
  CHECK(step.n_hit == 0);
  CHECK(step.n_wasted == 1);
}

TEST_CASE("a missing expert waits for a prefetch that has begun") {
  Case slow(1);
  slow.options.cost.group_ms = 0.25;
  // The prefetch begins at 1 and ends at 2; expert 0 of layer 1 is named at 1.25, read from 2 to 3.
  const SimulatedStep step = Simulation(slow.trace, slow.options).step();
  CHECK(step.step_ms == doctest::Approx(3.25));
  // With two readers the prefetch begins at once and takes half of the link: both end at 2.
  slow.options.cost.n_readers = 2;
  CHECK(Simulation(slow.trace, slow.options).step().step_ms == doctest::Approx(3.5));
}

TEST_CASE("who joins a prefetch that is on its way waits for its end") {
  Case right(0);
  right.options.cost.group_ms = 0.25;
  const SimulatedStep step = Simulation(right.trace, right.options).step();
  CHECK(step.n_joined == 1);
  CHECK(step.n_fetched == 2);
  CHECK(step.step_ms == doctest::Approx(2.25));
}

TEST_CASE("missing experts wait for no more than the two prefetches that may have begun") {
  // Three experts are needed in both layers, 0 to 2, and three others are predicted (3 to 5). The
  // link serves one read after the other, 1 ms each; there are readers for all.
  RoutingTrace trace{1, 1, 2, 8, 3, {0, 1, 2, 0, 1, 2}};
  std::vector<float> scores;
  for (int32_t job = 0; job < 2; ++job) {
    scores.insert(scores.end(), {0, 0, 0, 0.9F, 0.8F, 0.7F, 0, 0});
  }
  trace.n_lookahead = 1;
  trace.lookahead = ScoreArray(std::span<const float>(scores));
  SimulationOptions options;
  options.cost.link_bytes_per_s = 1e9;
  options.cost.link_in_order = true;
  options.cost.n_readers = 8;
  options.cost.group_ms = 0.25;
  options.slots = {16};
  options.record_bytes = {1'000'000};
  options.record_timeline = true;
  const auto first_demand_ms = [&](const char* policy) {  // when layer 1 has its first expert
    options.policy = parse_policy(policy);
    Simulation simulation(trace, options);
    const SimulatedStep step = simulation.step();
    CHECK(step.n_prefetched == (options.policy.prefetch == "none" ? 0 : 2));
    double ms = 1e9;
    for (const Timeline::Interval& read : simulation.timeline().intervals) {
      if (read.what == Timeline::What::kFetch && read.layer == 1 && !read.prefetch) {
        ms = std::min(ms, read.end_ms);
      }
    }
    return ms;
  };
  // Layer 0 has its experts at 3, and is done at 3.25.
  CHECK(first_demand_ms("lockstep////none") == doctest::Approx(4.25));
  // Two prefetches have begun behind them, and flow from 3 to 5; the third has not.
  const double ms = first_demand_ms("lockstep////next-router");
  CHECK(ms == doctest::Approx(6));
  CHECK(ms - 4.25 > 1);
  CHECK(ms - 4.25 <= 2);
}

TEST_CASE("prefetches that their step does not use are counted as wasted") {
  Case wrong(1, 4, 2);
  wrong.options.slots = {4};
  Simulation simulation(wrong.trace, wrong.options);
  int32_t n_prefetched = 0;
  while (!simulation.finished()) {
    const SimulatedStep step = simulation.step();
    n_prefetched += step.n_prefetched;
    CHECK(step.n_wasted == step.n_prefetched);
  }
  CHECK(n_prefetched > 3);
  CHECK(static_cast<uint64_t>(n_prefetched) == simulation.cache().counters().prefetched);
  CHECK(simulation.cache().counters().prefetch_used == 0);
  const Case right(0, 4);
  const SimulatedStep step = Simulation(right.trace, right.options).step();
  CHECK(step.n_prefetched == 3);
  CHECK(step.n_wasted == 0);
}

TEST_CASE("the timeline tells prefetches from fetches") {
  Case right(0);
  right.options.record_timeline = true;
  Simulation simulation(right.trace, right.options);
  (void)simulation.run();
  const auto records = to_records(simulation.timeline(), right.trace.n_expert);
  const auto n = [&](Event event) {
    return std::count_if(records.begin(), records.end(),
                         [&](const Record& r) { return r.event == static_cast<uint8_t>(event); });
  };
  CHECK(n(Event::kFetch) == 1);
  CHECK(n(Event::kPrefetch) == 1);
}

TEST_CASE("no eviction fetches less than the one that knows the future, in lockstep") {
  for (uint32_t seed = 0; seed < 8; ++seed) {
    RoutingTrace trace{30, 3, 3, 12, 2, {}};
    uint64_t state = seed + 1;
    const auto next = [&state] {
      state = state * 6364136223846793005U + 1442695040888963407U;
      return static_cast<int32_t>(state >> 33);
    };
    for (int32_t row = 0; row < 30 * 3 * 3; ++row) {
      // Low numbers are likelier.
      const int32_t first = std::min(next() % 12, next() % 12);
      trace.experts.push_back(first);
      trace.experts.push_back((first + 1 + next() % 11) % 12);
    }
    const auto fetched = [&](const std::string& eviction) {
      SimulationOptions options;
      options.policy = parse_simulated_policy("lockstep///" + eviction + "/none");
      options.slots = {14};
      options.record_bytes = {1000};
      int32_t n = 0;
      for (const SimulatedStep& step : Simulation(trace, options).run()) {
        n += step.n_fetched;
      }
      return n;
    };
    const int32_t least = fetched("belady");
    for (const std::string_view other : eviction_names()) {
      CAPTURE(other);
      CHECK(least <= fetched(std::string(other)));
    }
  }
}
