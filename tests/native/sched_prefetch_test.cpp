#include "sched_bench.h"

using namespace runahead;
using namespace runahead::test;

namespace {

constexpr const char* kLockstep = "lockstep/lowest-layer/layer-srtf/lfu/next-router";
constexpr const char* kRunahead = "runahead/lowest-layer/layer-srtf/lfu/next-router";

// The scores of the next layer's router over 8 experts: `first` surest, then `second`, then the
// rest evenly.
std::vector<float> next_layer(int32_t first, int32_t second) {
  std::vector<float> scores(8, 0.05F);
  scores[static_cast<size_t>(first)] = 0.5F;
  scores[static_cast<size_t>(second)] = 0.2F;
  return scores;
}

void route(Bench& bench, RequestId request, int32_t layer, std::vector<int32_t> experts,
           const std::vector<float>& lookahead) {
  route_alone(bench.scheduler, request, layer, experts, {{}, lookahead});
}

}  // namespace

TEST_CASE("predicted experts are read after the missing ones, the surest first, two at a time") {
  Bench bench(kLockstep, 8);
  bench.start({kA});
  CHECK(bench.scheduler.score_needs() == ScoreNeeds{false, 1});
  route(bench, kA, 0, {0, 1}, next_layer(6, 3));
  CHECK(bench.fetch() == 0);
  CHECK(bench.fetch() == 1);
  const auto surest = bench.scheduler.next_fetch();
  REQUIRE(surest);
  CHECK(surest->id == ExpertId{1, 6});
  CHECK(surest->prefetch);
  CHECK(surest->request == kA);
  CHECK(bench.fetch() == 103);
  CHECK(bench.fetch() == -1);
  CHECK(bench.cache.counters().prefetched == 2);
}

TEST_CASE("a missing expert goes before predictions that came first") {
  Bench bench(kLockstep, 8);
  bench.start({kA, kB});
  route(bench, kA, 0, {0, 1}, next_layer(6, 3));
  (void)bench.scheduler.next_fetch();
  (void)bench.scheduler.next_fetch();
  route(bench, kB, 0, {4, 0}, next_layer(2, 5));
  CHECK(bench.fetch() == 4);
  // Never more than two predicted ones hold readers, however many are wanted.
  CHECK(bench.fetch() == 106);
  CHECK(bench.fetch() == 102);  // 0.5 again, for the other request
  CHECK(bench.fetch() == -1);
  bench.scheduler.fetch_finished({1, 6});
  CHECK(bench.fetch() == 103);
}

TEST_CASE("under runahead predictions wait until the link is idle") {
  Bench bench(kRunahead, 8);
  bench.start({kA});
  route(bench, kA, 0, {0, 1}, next_layer(6, 3));
  CHECK(bench.fetch() == 0);
  CHECK(bench.fetch() == 1);
  CHECK(bench.fetch() == -1);  // two missing experts are in flight
  bench.scheduler.fetch_finished({0, 0});
  CHECK(bench.fetch() == -1);
  CHECK_FALSE(bench.scheduler.may_prefetch());
  bench.scheduler.fetch_finished({0, 1});
  CHECK(bench.scheduler.may_prefetch());
  CHECK(bench.fetch() == 106);
}

TEST_CASE("the true routing overtakes predictions, and joins what is being read") {
  Bench bench(kLockstep, 8);
  bench.start({kA});
  route(bench, kA, 0, {0, 1}, next_layer(6, 3));
  bench.scheduler.fetch_finished(bench.scheduler.next_fetch()->id);
  bench.scheduler.fetch_finished(bench.scheduler.next_fetch()->id);
  CHECK(bench.fetch() == 106);
  const auto group = bench.scheduler.next_group();
  REQUIRE(group);
  bench.scheduler.group_finished(*group, false);
  const auto issued = route_alone(bench.scheduler, kA, 1, std::vector<int32_t>{6, 2});
  CHECK(issued[0].acquired.outcome == Outcome::kJoined);
  CHECK(issued[1].acquired.outcome == Outcome::kMiss);
  CHECK(bench.fetch() == 102);
  CHECK(bench.fetch() == -1);  // 103 is not wanted any more
  bench.scheduler.fetch_finished({1, 6});
  bench.scheduler.fetch_finished({1, 2});
  CHECK(bench.scheduler.next_group()->requests == Requests{kA});
}

TEST_CASE("predictions never take the slots that jobs may need") {
  // Two requests of two experts: four slots must remain.
  Bench bench(kLockstep, 5);
  bench.start({kA, kB});
  route(bench, kA, 0, {0, 1}, next_layer(6, 3));
  (void)bench.scheduler.next_fetch();
  (void)bench.scheduler.next_fetch();
  CHECK(bench.fetch() == 106);  // five slots, so one may be lent
  CHECK(bench.fetch() == -1);
  bench.route(kB, 0, {2, 3});  // gets its slots
  CHECK(bench.cache.in_use(0) == 5);
  bench.fetch_all();
  bench.cache.check_integrity();
}

TEST_CASE("a prefetched expert is kept until all requests have been routed at its layer") {
  // LFU would give up first what nobody has used.
  Bench bench(kLockstep, 6);
  bench.start({kA, kB});
  route(bench, kA, 0, {0, 1}, next_layer(6, 3));
  route(bench, kB, 0, {0, 1}, next_layer(6, 3));
  bench.fetch_all();
  const auto group = bench.scheduler.next_group();
  REQUIRE(group);
  bench.scheduler.group_finished(*group, false);
  const auto resident = [&](int32_t expert) {
    return bench.cache.residency({1, expert}) == Residency::kReady;
  };
  CHECK((resident(6) && resident(3)));
  CHECK(bench.cache.lent(0) == 2);
  bench.route(kA, 1, {4, 5});  // evicts, but not what B may need
  CHECK((resident(6) && resident(3)));
  bench.route(kB, 1, {6, 3});
  CHECK(bench.cache.lent(0) == 0);
  CHECK(bench.cache.counters().prefetch_used == 2);
  bench.fetch_all();
  bench.cache.check_integrity();
}

TEST_CASE("prefetches are let go when everybody leaves") {
  Bench bench(kLockstep, 8);
  bench.start({kA});
  route(bench, kA, 0, {0, 1}, next_layer(6, 3));
  bench.fetch_all();
  CHECK(bench.cache.lent(0) == 2);
  bench.scheduler.cancel(kA);
  CHECK(bench.cache.lent(0) == 0);
  CHECK(bench.pinned() == 0);
}

TEST_CASE("what is resident or was predicted for who left is not read") {
  Bench bench(kLockstep, 8);
  bench.start({kA, kB});
  route(bench, kA, 0, {0, 1}, next_layer(6, 3));
  route(bench, kB, 0, {0, 1}, next_layer(6, 2));
  (void)bench.scheduler.next_fetch();
  (void)bench.scheduler.next_fetch();
  CHECK(bench.fetch() == 106);  // wanted twice, read once
  bench.scheduler.cancel(kA);
  CHECK(bench.fetch() == 102);
  bench.scheduler.fetch_finished({1, 6});
  bench.scheduler.fetch_finished({1, 2});
  CHECK(bench.fetch() == -1);
}

TEST_CASE("a prefetch that cannot be read ends nobody, and its reader is free again") {
  Bench bench(kLockstep, 8);
  bench.start({kA});
  route(bench, kA, 0, {0, 1}, next_layer(6, 3));
  (void)bench.scheduler.next_fetch();
  (void)bench.scheduler.next_fetch();
  const auto failed = bench.scheduler.next_fetch();
  CHECK(bench.scheduler.fetch_failed(failed->id).empty());
  CHECK_FALSE(bench.scheduler.has_left(kA));
  CHECK(bench.fetch() == 103);
}

TEST_CASE("a prediction without room does not keep others from being read") {
  // Layer 1 has its own slots, just what two requests may need; the others' class has more.
  ExpertCache cache({3, 8, {0, 1, 0}, {16, 8}}, "lfu");
  cache.set_capacity(0, 8);
  cache.set_capacity(1, 4);
  const Policy policy = parse_policy("static:1:1/lowest-layer/layer-srtf/lfu/next-router");
  Scheduler scheduler(policy, cache, {3, 8, 2});
  const auto route = [&](RequestId request, int32_t layer, const std::vector<float>& lookahead) {
    route_alone(scheduler, request, layer, std::vector<int32_t>{0, 1}, {{}, lookahead});
    while (scheduler.n_queued() > 0) {
      scheduler.fetch_finished(scheduler.next_fetch()->id);
    }
  };
  scheduler.step_started(Requests{kA, kB});
  route(kB, 0, next_layer(6, 3));
  CHECK_FALSE(scheduler.may_prefetch());  // only layer 1 is predicted: nobody need wake for it
  CHECK_FALSE(scheduler.next_fetch());
  scheduler.group_finished(*scheduler.next_group(), false);
  route(kB, 1, next_layer(5, 4));
  route(kA, 0, next_layer(7, 2));  // layer 1 is nearer than B's layer 2
  CHECK(scheduler.may_prefetch());
  const auto fetch = scheduler.next_fetch();
  REQUIRE(fetch);
  CHECK(fetch->id == ExpertId{2, 5});
  CHECK(fetch->prefetch);
  cache.set_capacity(1, 5);
  CHECK(scheduler.next_fetch()->id == ExpertId{1, 7});
  cache.check_integrity();
}
