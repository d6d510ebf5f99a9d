// Requests that are routed together: none evicts what another of them needs.

#include "cache/eviction.h"
#include "sched_bench.h"
#include "sim/simulation.h"

using namespace runahead;
using namespace runahead::test;

namespace {

std::string lockstep_with(std::string_view eviction) {
  return "lockstep/lowest-layer/layer-srtf/" + std::string(eviction) + "/none";
}

// Everything up to the end of a step of one layer.
void finish(Bench& bench) {
  bench.fetch_all();
  const auto group = bench.scheduler.next_group();
  REQUIRE(group.has_value());
  bench.scheduler.group_finished(*group, true);
  REQUIRE(bench.scheduler.step_finished());
}

}  // namespace

TEST_CASE("the misses of one request do not evict what another is about to hit") {
  for (const std::string_view eviction : eviction_names()) {
    CAPTURE(eviction);
    Bench bench(lockstep_with(eviction).c_str(), 4, 1);
    bench.start({kA, kB});
    bench.route(0, {{kA, {0, 1}}, {kB, {2, 3}}});
    finish(bench);
    const CacheCounters before = bench.cache.counters();
    bench.start({kA, kB});
    bench.route(0, {{kA, {4, 5}}, {kB, {0, 1}}});  // 0 and 1 are unused longest
    CHECK(bench.status(kA).missing == 2);
    CHECK(bench.status(kB).state == JobState::kReady);
    const CacheCounters& after = bench.cache.counters();
    CHECK(after.hits - before.hits == 2);
    CHECK(after.misses - before.misses == 2);
    CHECK(after.evicted - before.evicted == 2);
    CHECK(bench.pinned() == 4);  // one per job and expert, no more
    finish(bench);
    CHECK(bench.pinned() == 0);
    bench.cache.check_integrity();
  }
}

TEST_CASE("a request alone takes its hits before its misses evict anything") {
  Bench bench("lockstep-lru", 2, 1);
  bench.start({kA});
  bench.route(kA, 0, {0, 1});
  finish(bench);
  bench.start({kA});
  bench.route(kA, 0, {4, 0});  // 0 is unused longest
  CHECK(bench.status(kA).missing == 1);
  CHECK(bench.cache.residency({0, 0}) == Residency::kReady);
  CHECK(bench.cache.residency({0, 1}) == Residency::kAbsent);
}

TEST_CASE("what is held for a later request is used once per job, in the order of the jobs") {
  Bench bench("lockstep-lfu", 6, 1);
  bench.start({kA, kB, kC});
  bench.route(0, {{kA, {0, 1}}, {kB, {1, 2}}, {kC, {2, 3}}});
  finish(bench);
  bench.start({kA, kB, kC});
  bench.route(0, {{kA, {0, 3}}, {kB, {0, 3}}, {kC, {0, 3}}});
  CHECK(bench.cache.pins({0, 0}) == 3);
  finish(bench);
  // Uses: 0 and 3 four each, 1 and 2 two each; 1 was let go before 2.
  bench.start({kA, kB, kC});
  bench.route(0, {{kA, {4, 5}}, {kB, {4, 6}}, {kC, {4, 5}}});
  CHECK(bench.cache.residency({0, 1}) == Residency::kAbsent);
  CHECK(bench.cache.residency({0, 2}) == Residency::kReady);
  CHECK(bench.cache.residency({0, 0}) == Residency::kReady);
}

TEST_CASE("with the fewest slots that the deadlock rule allows, all get theirs") {
  Bench bench("lockstep-lfu", 6, 1);
  bench.start({kA, kB, kC});
  bench.route(0, {{kA, {0, 1}}, {kB, {2, 3}}, {kC, {4, 5}}});
  finish(bench);
  bench.start({kA, kB, kC});
  bench.route(0, {{kA, {6, 0}}, {kB, {7, 1}}, {kC, {5, 4}}});
  CHECK(bench.cache.in_use(0) == 6);
  CHECK(bench.status(kC).state == JobState::kReady);
  CHECK(bench.fetch() == 6);
  bench.scheduler.cancel(kA);  // while its read is in flight and B's is queued
  CHECK(bench.cache.residency({0, 0}) == Residency::kReady);
  CHECK(bench.fetch() == 7);
  CHECK(bench.scheduler.fetch_failed({0, 7}) == Requests{kB});
  CHECK(bench.scheduler.next_group()->requests == Requests{kC});
  bench.cache.check_integrity();
}

TEST_CASE("the simulator issues together what the engine does") {
  for (const std::string_view eviction : eviction_names()) {
    CAPTURE(eviction);
    const RoutingTrace trace{2, 2, 1, 6, 2, {0, 1, 2, 3, 4, 5, 0, 1}};
    SimulationOptions options;
    options.policy = parse_policy(lockstep_with(eviction));
    options.slots = {4};
    options.record_bytes = {1000};
    Simulation simulation(trace, options);
    CHECK(simulation.step().n_fetched == 4);
    const SimulatedStep second = simulation.step();
    CHECK(second.n_fetched == 2);
    CHECK(second.n_hit == 2);
  }
}
