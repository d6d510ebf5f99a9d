#include "sched_bench.h"

using namespace runahead;
using namespace runahead::test;

namespace {

constexpr RequestId kD{13}, kE{14};

}  // namespace

TEST_CASE("a static group runs when all of it is ready, and without the others") {
  Bench bench("static:2:2/lowest-layer/layer-srtf/lfu/none", 16);
  bench.start({kA, kB, kC, kD});
  bench.route(kA, 0, {0, 1});
  bench.route(kB, 0, {2, 3});
  bench.route(kC, 0, {0, 1});
  bench.route(kD, 0, {4, 5});
  bench.scheduler.fetch_finished(bench.scheduler.next_fetch()->id);
  bench.scheduler.fetch_finished(bench.scheduler.next_fetch()->id);
  // A and C are ready: the first group waits for B, the second for D.
  CHECK(bench.status(kA).state == JobState::kReady);
  CHECK(bench.status(kC).state == JobState::kReady);
  CHECK_FALSE(bench.scheduler.next_group());
  bench.fetch_all();
  const auto first = bench.scheduler.next_group();
  REQUIRE(first);
  CHECK(first->requests == Requests{kA, kB});
  // Both groups are ready at one layer, and still they run one after the other.
  const auto second = bench.scheduler.next_group();
  REQUIRE(second);
  CHECK(second->requests == Requests{kC, kD});
}

TEST_CASE("static groups advance on their own") {
  Bench bench("static:1:1/lowest-layer/layer-srtf/lfu/none", 16);
  bench.start({kA, kB});
  bench.pass(kA, 0, {0, 1});
  bench.pass(kA, 1, {0, 1});
  CHECK(bench.status(kB).layer == -1);
  bench.pass(kB, 0, {0, 1});
}

TEST_CASE("the sizes repeat when there are more requests") {
  Bench bench("static:2:1/lowest-layer/layer-srtf/lfu/none", 32);
  bench.start({kA, kB, kC, kD, kE});
  for (const RequestId request : {kA, kB, kC, kD, kE}) {
    bench.route(request, 0, {0, 1});
  }
  bench.fetch_all();
  std::vector<Requests> groups;
  while (const auto group = bench.scheduler.next_group()) {
    groups.push_back(group->requests);
  }
  CHECK(groups == std::vector<Requests>{{kA, kB}, {kC}, {kD, kE}});
}

TEST_CASE("one static group of all is lockstep") {
  Bench bench("static:3/fifo/layer-srtf/lfu/none", 16);
  bench.start({kA, kB, kC});
  bench.route(kA, 0, {0, 1});
  bench.route(kB, 0, {0, 1});
  bench.fetch_all();
  CHECK_FALSE(bench.scheduler.next_group());  // C has not been routed
  bench.scheduler.cancel(kC);
  CHECK(bench.scheduler.next_group()->requests == Requests{kA, kB});
}
