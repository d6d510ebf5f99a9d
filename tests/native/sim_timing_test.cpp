// What a simulation's times are, to the last digit: interference, and the trace it leaves.

#include <algorithm>

#include "base/error.h"
#include "sim/simulation.h"

#undef CHECK  // doctest's from here on
#include <doctest/doctest.h>

using namespace runahead;

namespace {

// One layer, request r needs expert r alone; each read takes 1 ms, one after the other; a group
// 1 ms.
SimulationOptions options_of(double interference) {
  SimulationOptions options;
  options.policy = parse_policy("bevy");
  options.cost.link_bytes_per_s = 1e9;
  options.cost.n_readers = 1;
  options.cost.group_ms = 1;
  options.cost.interference = interference;
  options.slots = {4};
  options.record_bytes = {1'000'000};
  return options;
}

}  // namespace

TEST_CASE("compute is slower exactly while bytes flow") {
  const RoutingTrace trace{1, 2, 1, 4, 1, {0, 1}};
  // Reads end at 1 and 2. The first group has done 1 / 1.5 of its work at 2 and needs 1/3 ms more;
  // the second is undisturbed.
  const SimulatedStep step = Simulation(trace, options_of(0.5)).step();
  CHECK(step.compute_ms == doctest::Approx(1 + 1.0 / 3 + 1).epsilon(1e-12));
  CHECK(step.both_ms == doctest::Approx(1).epsilon(1e-12));
  CHECK(step.step_ms == doctest::Approx(1 + 1 + 1.0 / 3 + 1).epsilon(1e-12));
  CHECK(Simulation(trace, options_of(0)).step().step_ms == doctest::Approx(3).epsilon(1e-12));
}

TEST_CASE("a read that waits for its latency disturbs nobody") {
  const RoutingTrace trace{1, 2, 1, 4, 1, {0, 1}};
  SimulationOptions options = options_of(0.5);
  options.cost.link_latency_ms = 1;
  // The first read ends at 2, the second waits until 3 and flows until 4; the first group is over
  // when it begins to flow.
  CHECK(Simulation(trace, options).step().step_ms == doctest::Approx(5).epsilon(1e-12));
  options.cost.group_ms = 1.5;  // half a ms of work is left at 3, which takes 0.75
  const SimulatedStep step = Simulation(trace, options).step();
  CHECK(step.compute_ms == doctest::Approx(1.75 + 1.5).epsilon(1e-12));
  CHECK(step.step_ms == doctest::Approx(4 + 1.5).epsilon(1e-12));
}

TEST_CASE("lockstep never computes beside a read, so interference costs it nothing") {
  const RoutingTrace trace{1, 2, 1, 4, 1, {0, 1}};
  SimulationOptions options = options_of(0.5);
  options.policy = parse_policy("lockstep-lfu");
  CHECK(Simulation(trace, options).step().step_ms == doctest::Approx(3).epsilon(1e-12));
}

TEST_CASE("front and head cost more with more requests") {
  const RoutingTrace trace{2, 3, 1, 4, 1, {0, 1, 2, 0, -1, -1}};
  SimulationOptions options = options_of(0);
  options.cost = {};
  options.cost.front_ms = 1;
  options.cost.front_request_ms = 10;
  options.cost.head_ms = 100;
  options.cost.head_request_ms = 1000;
  const std::vector<SimulatedStep> steps = Simulation(trace, options).run();
  CHECK(steps[0].compute_ms == doctest::Approx(1 + 3 * 10 + 100 + 3 * 1000));
  CHECK(steps[1].compute_ms == doctest::Approx(1 + 10 + 100 + 1000));
}

TEST_CASE("the trace of a simulation is that of an engine, in virtual time") {
  const RoutingTrace trace{1, 2, 1, 4, 1, {0, 1}};
  SimulationOptions options = options_of(0);
  options.cost.head_ms = 0.25;
  options.record_timeline = true;
  Simulation simulation(trace, options);
  (void)simulation.run();
  const std::vector<Record> records = to_records(simulation.timeline(), trace.n_expert);
  const auto find = [&](Event event, size_t nth = 0) {
    for (const Record& r : records) {
      if (r.event == static_cast<uint8_t>(event) && nth-- == 0) {
        return r;
      }
    }
    FAIL("no such record");
    return Record{};
  };
  const Record step = find(Event::kStep);
  CHECK(step.begin_ns == 0);
  CHECK(step.end_ns == 3'250'000);
  CHECK(step.a == 2);
  CHECK(step.b == 2);
  const Record front = find(Event::kFront);
  CHECK(front.layer == 0);
  CHECK(front.a == 2);
  const Record fetch = find(Event::kFetch, 1);
  CHECK(fetch.begin_ns == 1'000'000);
  CHECK(fetch.end_ns == 2'000'000);
  CHECK(fetch.expert == 1);
  CHECK(fetch.request == 1);
  CHECK(fetch.lane == 1);
  CHECK(fetch.a == 1'000'000);
  CHECK(fetch.b == 1);
  const Record group = find(Event::kGroup, 1);
  CHECK(group.lane == 0);
  CHECK(group.layer == 0);
  CHECK(group.a == 1);
  CHECK(group.b == 1 << 1);
  CHECK(find(Event::kHead).a == 2);
  const Record miss = find(Event::kMiss, 1);
  CHECK(miss.begin_ns == miss.end_ns);
  CHECK(miss.request == 1);
  CHECK(miss.b == -1);
  CHECK(records.size() == 1 + 1 + 2 + 2 + 2 + 1);
}

TEST_CASE("only a simulation can have an eviction that knows the future") {
  CHECK(parse_simulated_policy("runahead/fifo/fifo/belady/none").eviction == "belady");
  CHECK(parse_simulated_policy("runahead/fifo/fifo/belady/none").compute_order == "fifo");
  CHECK(parse_simulated_policy("///belady/").schedule == "runahead");
  CHECK(parse_simulated_policy("bevy") == parse_policy("bevy"));
  for (const char* text : {"belady", "runahead/fifo/belady/lru/none", "x/fifo/fifo/belady/none",
                           "runahead/fifo/fifo/belady"}) {
    CAPTURE(text);
    CHECK_THROWS_AS((void)parse_simulated_policy(text), Error);
  }
  CHECK_THROWS_AS((void)parse_policy("runahead/fifo/fifo/belady/none"), Error);
}
