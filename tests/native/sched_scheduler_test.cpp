#include "sched/scheduler.h"

#include "sched_bench.h"

using namespace runahead;
using namespace runahead::test;

TEST_CASE("a job is ready when its experts are resident, else blocked until the last arrives") {
  Bench bench("bevy", 8);
  bench.start({kA});
  CHECK(bench.status(kA).state == JobState::kRouting);
  bench.route(kA, 0, {1, 2});
  CHECK(bench.status(kA).state == JobState::kBlocked);
  CHECK(bench.status(kA).missing == 2);
  CHECK(bench.scheduler.n_queued() == 2);
  CHECK(bench.fetch() == 1);
  CHECK(bench.fetch() == 2);
  CHECK(bench.scheduler.n_queued() == 0);
  CHECK(bench.status(kA).missing == 2);  // in flight is still missing
  CHECK_FALSE(bench.scheduler.fetch_finished({0, 2}));
  CHECK_FALSE(bench.scheduler.next_group().has_value());
  CHECK(bench.scheduler.fetch_finished({0, 1}));
  CHECK(bench.status(kA).state == JobState::kReady);
  const auto group = bench.scheduler.next_group();
  REQUIRE(group.has_value());
  CHECK(group->layer == 0);
  CHECK(bench.status(kA).state == JobState::kRunning);
  CHECK(bench.pinned() == 2);
  bench.scheduler.group_finished(*group, false);
  CHECK(bench.pinned() == 0);
  CHECK(bench.status(kA).state == JobState::kRouting);
  CHECK_FALSE(bench.scheduler.step_finished());
  bench.route(kA, 1, {3, 4});
  bench.fetch_all();
  bench.scheduler.group_finished(*bench.scheduler.next_group(), true);
  CHECK(bench.status(kA).state == JobState::kDone);
  CHECK(bench.scheduler.step_finished());
}

TEST_CASE("routed tells the outcome of each expert") {
  Bench bench("bevy", 8);
  bench.start({kA, kB});
  bench.route(kA, 0, {1, 2});
  bench.scheduler.fetch_finished(bench.scheduler.next_fetch()->id);  // 1 is resident now
  const std::vector<int32_t> experts = {2, 1, 3};
  const auto issued = route_alone(bench.scheduler, kB, 0, experts);
  REQUIRE(issued.size() == 3);
  CHECK(issued[0].acquired.outcome == Outcome::kJoined);
  CHECK(issued[1].acquired.outcome == Outcome::kHit);
  CHECK(issued[2].acquired.outcome == Outcome::kMiss);
  CHECK(issued[2].acquired.slot == *bench.cache.slot_of({0, 3}));
}

TEST_CASE(
    "layer-srtf reads for the lowest layer, then for the fewest missing, then in step order") {
  Bench bench("bevy", 16);
  bench.start({kA, kB, kC});
  bench.pass(kA, 0, {0, 1});
  bench.route(kA, 1, {0});        // one missing, but a layer ahead
  bench.route(kB, 0, {2, 3, 4});  // three missing
  bench.route(kC, 0, {5, 6, 0});  // two missing
  CHECK(bench.fetch() == 5);
  CHECK(bench.fetch() == 6);  // still two missing: both are in flight
  CHECK(bench.fetch() == 2);
  CHECK(bench.fetch() == 3);
  CHECK(bench.fetch() == 4);
  CHECK(bench.fetch() == 100);
  CHECK(bench.fetch() == -1);
}

TEST_CASE("ties of layer-srtf go in the order of the step") {
  Bench bench("bevy", 16);
  bench.start({kB, kA});
  bench.route(kA, 0, {0, 1});
  bench.route(kB, 0, {2, 3});
  CHECK(bench.fetch() == 2);
  CHECK(bench.fetch() == 3);
  CHECK(bench.fetch() == 0);
}

TEST_CASE("a shared expert is read with the priority of the most urgent job that needs it") {
  Bench bench("bevy", 16);
  bench.start({kA, kB});
  bench.route(kA, 0, {1, 2, 3});
  bench.route(kB, 0, {3, 0});  // joins 3, fewer missing
  const auto first = bench.scheduler.next_fetch();
  REQUIRE(first.has_value());
  CHECK(first->id == ExpertId{0, 3});
  CHECK(first->request == kA);  // who needed it first
  CHECK(bench.fetch() == 0);
  CHECK(bench.fetch() == 1);
  CHECK(bench.scheduler.n_queued() == 1);
  bench.scheduler.fetch_finished({0, 3});
  CHECK(bench.status(kA).missing == 2);
  CHECK(bench.status(kB).missing == 1);
}

TEST_CASE("global-srtf reads for the fewest missing, then for the lowest layer") {
  Bench bench("//global-srtf//", 16);
  bench.start({kA, kB, kC});
  bench.pass(kA, 0, {0, 1});
  bench.route(kA, 1, {0, 1});
  bench.route(kB, 0, {2, 3, 4});
  bench.route(kC, 0, {5, 6});
  CHECK(bench.fetch() == 5);
  CHECK(bench.fetch() == 6);
  CHECK(bench.fetch() == 100);
  CHECK(bench.fetch() == 101);
  CHECK(bench.fetch() == 2);
}

TEST_CASE("fifo reads in the order of the queue") {
  Bench bench("//fifo//", 16);
  bench.start({kA, kB});
  bench.route(kB, 0, {5, 4, 3});
  bench.route(kA, 0, {4, 1});
  for (const int32_t expert : {5, 4, 3, 1, -1}) {
    CHECK(bench.fetch() == expert);
  }
}

TEST_CASE("runahead computes all ready jobs of the lowest ready layer") {
  Bench bench("bevy", 32);
  bench.start({kA, kB, kC});
  bench.pass(kB, 0, {1});
  bench.route(kB, 1, {1});
  bench.route(kC, 0, {2});
  bench.route(kA, 0, {3});
  bench.fetch_all();
  const auto group = bench.scheduler.next_group();
  REQUIRE(group.has_value());
  CHECK(group->layer == 0);
  CHECK(group->requests == Requests{kA, kC});
  const auto next = bench.scheduler.next_group();
  REQUIRE(next.has_value());
  CHECK(next->layer == 1);
  CHECK(next->requests == Requests{kB});
  CHECK_FALSE(bench.scheduler.next_group().has_value());
}

TEST_CASE("fifo computes the layer of the job that has been ready longest") {
  Bench bench("/fifo///", 32);
  bench.start({kA, kB, kC});
  bench.pass(kB, 0, {1});
  bench.route(kB, 1, {1});
  bench.fetch_all();
  bench.route(kA, 0, {1});
  bench.route(kC, 0, {1});
  CHECK(bench.scheduler.next_group()->layer == 1);
  CHECK(bench.scheduler.next_group()->requests == Requests{kA, kC});
}

TEST_CASE("lockstep computes all jobs at once, when all are ready") {
  Bench bench("lockstep-lfu", 32);
  bench.start({kA, kB, kC});
  bench.route(kA, 0, {1});
  bench.fetch_all();
  CHECK_FALSE(bench.scheduler.next_group().has_value());  // B and C are routing
  bench.route(kB, 0, {2});
  bench.route(kC, 0, {1});
  CHECK_FALSE(bench.scheduler.next_group().has_value());  // B is blocked
  bench.fetch_all();
  const auto group = bench.scheduler.next_group();
  REQUIRE(group.has_value());
  CHECK(group->requests == Requests{kA, kB, kC});
  CHECK_FALSE(bench.scheduler.next_group().has_value());
  bench.scheduler.group_finished(*group, true);
  CHECK(bench.scheduler.step_finished());
}

TEST_CASE("lockstep goes on without a request that left") {
  Bench bench("lockstep-lfu", 32);
  bench.start({kA, kB});
  bench.route(kA, 0, {1});
  bench.route(kB, 0, {2});
  bench.scheduler.fetch_finished({0, bench.fetch()});
  bench.scheduler.cancel(kB);
  CHECK(bench.scheduler.next_group()->requests == Requests{kA});
}

TEST_CASE("cancelling a blocked job withdraws what only it needed") {
  Bench bench("bevy", 16);
  bench.start({kA, kB});
  bench.route(kA, 0, {1, 2, 3, 4});
  bench.route(kB, 0, {3, 5});
  CHECK(bench.fetch() == 3);
  CHECK(bench.fetch() == 5);
  CHECK(bench.fetch() == 1);
  bench.scheduler.cancel(kA);
  CHECK(bench.scheduler.has_left(kA));
  CHECK_FALSE(bench.scheduler.has_left(kB));
  CHECK(bench.scheduler.n_queued() == 0);  // 2 and 4 are not read
  CHECK(bench.cache.residency({0, 2}) == Residency::kAbsent);
  CHECK(bench.cache.lent(0) == 1);  // 1 is in flight
  CHECK(bench.pinned() == 2);
  CHECK_FALSE(bench.scheduler.fetch_finished({0, 1}));
  CHECK(bench.cache.residency({0, 1}) == Residency::kReady);
  bench.scheduler.cancel(kA);  // again: nothing happens
  CHECK_FALSE(bench.scheduler.fetch_finished({0, 3}));
  CHECK(bench.scheduler.fetch_finished({0, 5}));
  CHECK(bench.scheduler.next_group()->requests == Requests{kB});
}

TEST_CASE("a cancelled running job keeps its pins until its group has finished") {
  Bench bench("bevy", 16);
  bench.start({kA, kB});
  bench.route(kA, 0, {1});
  bench.route(kB, 0, {1, 2});
  bench.fetch_all();
  const auto group = bench.scheduler.next_group();
  bench.scheduler.cancel(kA);
  CHECK_FALSE(bench.scheduler.has_left(kA));
  CHECK(bench.pinned() == 3);
  bench.scheduler.group_finished(*group, false);
  CHECK(bench.pinned() == 0);
  CHECK(bench.scheduler.has_left(kA));
  CHECK(bench.status(kB).state == JobState::kRouting);
}

TEST_CASE("a request that is routing or done can be cancelled") {
  Bench bench("bevy", 16);
  bench.start({kA, kB});
  bench.scheduler.cancel(kA);
  bench.route(kB, 0, {1});
  bench.fetch_all();
  bench.scheduler.group_finished(*bench.scheduler.next_group(), true);
  CHECK(bench.scheduler.step_finished());
  bench.scheduler.cancel(kB);
  CHECK(bench.scheduler.progress_table().empty());
  CHECK(bench.scheduler.step_finished());
  CHECK(bench.scheduler.has_left(kC));  // never was in this step
}

TEST_CASE("a failed fetch takes out every job that needs the expert, and only those") {
  Bench bench("bevy", 16);
  bench.start({kA, kB, kC});
  bench.route(kA, 0, {1, 2});
  bench.route(kB, 0, {2, 3});
  bench.route(kC, 0, {3, 4});
  while (bench.fetch() != 2) {
  }
  CHECK(bench.scheduler.fetch_failed({0, 2}) == Requests{kA, kB});
  CHECK(bench.scheduler.has_left(kA));
  CHECK(bench.scheduler.has_left(kB));
  CHECK(bench.cache.residency({0, 2}) == Residency::kAbsent);
  CHECK(bench.pinned() == 2);
  CHECK(bench.cache.pins({0, 3}) == 1);
  bench.cache.check_integrity();
}

TEST_CASE("a fetch of nobody may finish or fail") {
  Bench bench("bevy", 16);
  bench.start({kA});
  bench.route(kA, 0, {1, 2});
  CHECK(bench.fetch() == 1);
  CHECK(bench.fetch() == 2);
  bench.scheduler.cancel(kA);
  CHECK(bench.scheduler.step_finished());
  Scheduler other(parse_policy("lockstep-lfu"), bench.cache, {4, 8, 2});
  bench.cache.set_eviction("lfu");
  other.step_started(Requests{kB});
  const std::vector<int32_t> experts = {1};
  CHECK(route_alone(other, kB, 0, experts)[0].acquired.outcome == Outcome::kJoined);
  CHECK(other.n_queued() == 0);  // it is in flight, not queued
  CHECK(other.fetch_failed({0, 2}).empty());
  CHECK(other.fetch_finished({0, 1}));
  bench.cache.check_integrity();
}

TEST_CASE("the deadlock rule counts slots that fetches of nobody still hold") {
  Bench bench("bevy", 4);
  CHECK(Scheduler::slots_needed(2, 2) == 4);
  CHECK(bench.scheduler.can_start(2));
  CHECK_FALSE(bench.scheduler.can_start(3));
  bench.start({kA, kB});
  bench.route(kA, 0, {1, 2});
  CHECK(bench.fetch() == 1);
  bench.scheduler.cancel(kA);
  bench.scheduler.cancel(kB);
  CHECK_FALSE(bench.scheduler.can_start(2));  // 1 is in flight
  bench.scheduler.fetch_finished({0, 1});
  CHECK(bench.scheduler.can_start(2));
}

TEST_CASE("a class that holds all its experts needs no more slots") {
  ExpertCache cache({2, 4, {0, 1}, {4, 4}}, "lfu");
  cache.set_capacity(0, 4);
  cache.set_capacity(1, 4);
  const Scheduler scheduler(Policy{}, cache, {2, 4, 2});
  CHECK(scheduler.can_start(16));
  cache.set_capacity(1, 3);
  CHECK_FALSE(scheduler.can_start(16));
}

TEST_CASE("a policy this version does not know is refused") {
  ExpertCache cache({1, 2, {0}, {2}}, "lfu");
  Policy policy;
  policy.fetch_order = "lifo";
  CHECK_THROWS_AS(Scheduler(policy, cache, {1, 2, 1}), Error);
}

TEST_CASE("a step fits after a shrink to the deadlock rule in the middle of it") {
  // Two requests, two experts each: four slots. Eight at first, all in use or pinned.
  Bench bench("bevy", 8);
  bench.start({kA, kB});
  bench.pass(kB, 0, {0, 1});
  bench.pass(kB, 1, {0, 1});
  bench.route(kB, 2, {0, 1});
  bench.route(kA, 0, {2, 3});
  CHECK(bench.cache.in_use(0) == 8);
  bench.cache.set_capacity(0, 4);
  CHECK(bench.scheduler.can_start(2));
  CHECK(bench.cache.in_use(0) == 4);
  bench.fetch_all();
  const auto group = bench.scheduler.next_group();
  CHECK(group->requests == Requests{kA});
  bench.scheduler.group_finished(*group, false);
  bench.route(kA, 1, {4, 5});  // must get its slots
  bench.fetch_all();
  CHECK(bench.scheduler.next_group()->layer == 1);
  bench.cache.check_integrity();
}
