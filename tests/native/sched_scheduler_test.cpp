#include "sched/scheduler.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "base/error.h"

#undef CHECK  // doctest's from here on
#include <doctest/doctest.h>

using namespace runahead;

namespace {

constexpr RequestId kA{10}, kB{11}, kC{12};

struct Bench {
  ExpertCache cache;
  Scheduler scheduler;

  explicit Bench(const char* policy, int32_t capacity, int32_t n_layer = 4, int32_t n_expert = 8)
      : cache({n_layer, n_expert, std::vector<int32_t>(static_cast<size_t>(n_layer), 0), {32}},
              parse_policy(policy).eviction),
        scheduler(parse_policy(policy), cache) {
    cache.set_capacity(0, capacity);
  }

  void start(std::vector<RequestId> requests) { scheduler.step_started(requests); }
  void route(RequestId request, int32_t layer, std::vector<int32_t> experts) {
    scheduler.routed(request, layer, experts);
  }
  // The next fetch as layer * 100 + expert, -1: none.
  int32_t fetch() {
    const auto fetch = scheduler.next_fetch();
    return fetch ? fetch->id.layer * 100 + fetch->id.expert : -1;
  }
  // Reads everything that is queued.
  void fetch_all() {
    while (const auto fetch = scheduler.next_fetch()) {
      scheduler.fetch_finished(fetch->id);
    }
  }
  // Runs `request` alone through a layer.
  void pass(RequestId request, int32_t layer, std::vector<int32_t> experts) {
    route(request, layer, std::move(experts));
    fetch_all();
    const auto group = scheduler.next_group();
    REQUIRE(group.has_value());
    REQUIRE(group->requests == std::vector<RequestId>{request});
    scheduler.group_finished(*group, false);
  }
  JobStatus status(RequestId request) {
    for (const JobStatus& row : scheduler.progress_table()) {
      if (row.request == request) {
        return row;
      }
    }
    FAIL("not in the step");
    return {};
  }
  int32_t pinned() {
    int32_t n = 0;
    for (int32_t layer = 0; layer < cache.geometry().n_layer; ++layer) {
      for (int32_t expert = 0; expert < cache.geometry().n_expert; ++expert) {
        n += cache.pins({layer, expert});
      }
    }
    return n;
  }
};

using Requests = std::vector<RequestId>;

}  // namespace

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
  CHECK_FALSE(bench.scheduler.has_fetch());
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
  const auto issued = bench.scheduler.routed(kB, 0, experts);
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
  CHECK(bench.cache.unpinned_loading(0) == 1);  // 1 is in flight
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
  Scheduler other(parse_policy("lockstep-lfu"), bench.cache);
  bench.cache.set_eviction("lfu");
  other.step_started(Requests{kB});
  const std::vector<int32_t> experts = {1};
  CHECK(other.routed(kB, 0, experts)[0].acquired.outcome == Outcome::kJoined);
  CHECK_FALSE(other.has_fetch());  // it is in flight, not queued
  CHECK(other.fetch_failed({0, 2}).empty());
  CHECK(other.fetch_finished({0, 1}));
  bench.cache.check_integrity();
}

TEST_CASE("the deadlock rule counts slots that fetches of nobody still hold") {
  Bench bench("bevy", 4);
  CHECK(Scheduler::slots_needed(2, 2) == 4);
  CHECK(bench.scheduler.can_start(2, 2));
  CHECK_FALSE(bench.scheduler.can_start(3, 2));
  bench.start({kA, kB});
  bench.route(kA, 0, {1, 2});
  CHECK(bench.fetch() == 1);
  bench.scheduler.cancel(kA);
  bench.scheduler.cancel(kB);
  CHECK_FALSE(bench.scheduler.can_start(2, 2));  // 1 is in flight
  bench.scheduler.fetch_finished({0, 1});
  CHECK(bench.scheduler.can_start(2, 2));
}

TEST_CASE("a class that holds all its experts needs no more slots") {
  ExpertCache cache({2, 4, {0, 1}, {4, 4}}, "lfu");
  cache.set_capacity(0, 4);
  cache.set_capacity(1, 4);
  const Scheduler scheduler(Policy{}, cache);
  CHECK(scheduler.can_start(16, 2));
  cache.set_capacity(1, 3);
  CHECK_FALSE(scheduler.can_start(16, 2));
}

TEST_CASE("a policy this version does not know is refused") {
  ExpertCache cache({1, 2, {0}, {2}}, "lfu");
  Policy policy;
  policy.fetch_order = "lifo";
  CHECK_THROWS_AS(Scheduler(policy, cache), Error);
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
  CHECK(bench.scheduler.can_start(2, 2));
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

// ---- random steps with cancels, failures and shrinks ----

namespace {

// Plays random steps at the smallest allowed cache and checks what must always hold.
class RandomPlay {
 public:
  RandomPlay(const char* policy, uint32_t seed)
      : rng_(seed), bench_(policy, 6, kLayers, kExperts) {}

  void play_steps(int32_t n) {
    for (int32_t i = 0; i < n; ++i) {
      // Fetches that cancelled jobs left behind may have to arrive first.
      while (!bench_.scheduler.can_start(kRequests, kUsed)) {
        REQUIRE(!in_flight_.empty());
        finish_fetch(false);
      }
      play_step();
    }
    while (!in_flight_.empty()) {
      finish_fetch(false);
    }
    check();
    REQUIRE(bench_.cache.unpinned_loading(0) == 0);
  }

  int32_t n_left = 0, n_done = 0;

 private:
  static constexpr int32_t kLayers = 3, kExperts = 6, kUsed = 2, kRequests = 3, kReaders = 3;

  int32_t pick(int32_t n) { return static_cast<int32_t>(rng_() % static_cast<uint32_t>(n)); }

  void play_step() {
    const Requests requests = {RequestId{next_request_}, RequestId{next_request_ + 1},
                               RequestId{next_request_ + 2}};
    next_request_ += kRequests;
    bench_.start(requests);
    need_route_.clear();
    for (const RequestId request : requests) {
      need_route_[request] = 0;
    }
    for (int32_t guard = 0; !bench_.scheduler.step_finished(); ++guard) {
      REQUIRE(guard < 10000);
      act(requests);
      check();
    }
    REQUIRE(!bench_.scheduler.has_fetch());
    REQUIRE(bench_.pinned() == 0);
    for (const RequestId request : requests) {
      ++(bench_.scheduler.has_left(request) ? n_left : n_done);
    }
  }

  void act(const Requests& requests) {
    switch (pick(9)) {
      case 0:
      case 1:
        if (!need_route_.empty()) {
          route(need_route_.begin()->first);
        }
        break;
      case 2:
        if (in_flight_.size() < kReaders) {
          if (const auto fetch = bench_.scheduler.next_fetch()) {
            REQUIRE(in_flight_.insert(fetch->id).second);
          }
        }
        break;
      case 3:
      case 4:
        if (!in_flight_.empty()) {
          finish_fetch(pick(25) == 0);
        }
        break;
      case 5:
        if (!group_) {
          group_ = bench_.scheduler.next_group();
        }
        break;
      case 6:
        if (group_) {
          finish_group();
        }
        break;
      case 7:
        if (pick(15) == 0) {
          const RequestId request = requests[static_cast<size_t>(pick(kRequests))];
          bench_.scheduler.cancel(request);
          forget_left();
        }
        break;
      default:
        // Between the deadlock rule, strays included, and plenty.
        bench_.cache.set_capacity(0,
                                  kRequests * kUsed + bench_.cache.unpinned_loading(0) + pick(4));
    }
  }

  void route(RequestId request) {
    std::vector<int32_t> experts(kExperts);
    for (int32_t e = 0; e < kExperts; ++e) {
      experts[static_cast<size_t>(e)] = e;
    }
    std::shuffle(experts.begin(), experts.end(), rng_);
    experts.resize(kUsed);
    bench_.route(request, need_route_[request], experts);
    need_route_.erase(request);
  }

  void finish_fetch(bool fails) {
    auto it = in_flight_.begin();
    std::advance(it, pick(static_cast<int32_t>(in_flight_.size())));
    const ExpertId id = *it;
    in_flight_.erase(it);
    if (!fails) {
      bench_.scheduler.fetch_finished(id);
      return;
    }
    for (const RequestId request : bench_.scheduler.fetch_failed(id)) {
      REQUIRE(bench_.scheduler.has_left(request));
    }
    forget_left();
  }

  void finish_group() {
    const Group group = *group_;
    group_.reset();
    const bool last = group.layer == kLayers - 1;
    bench_.scheduler.group_finished(group, last);
    for (const RequestId request : group.requests) {
      if (!bench_.scheduler.has_left(request) && !last) {
        need_route_[request] = group.layer + 1;
      }
    }
  }

  void forget_left() {
    std::erase_if(need_route_, [&](const auto& r) { return bench_.scheduler.has_left(r.first); });
  }

  void check() {
    bench_.cache.check_integrity();
    int32_t n_loading = 0;
    for (int32_t layer = 0; layer < kLayers; ++layer) {
      for (int32_t expert = 0; expert < kExperts; ++expert) {
        n_loading += bench_.cache.residency({layer, expert}) == Residency::kLoading ? 1 : 0;
      }
    }
    // What loads is either queued or in flight, never both, never twice.
    REQUIRE(n_loading == bench_.scheduler.n_queued() + static_cast<int32_t>(in_flight_.size()));
    for (const ExpertId id : in_flight_) {
      REQUIRE(bench_.cache.residency(id) == Residency::kLoading);
    }
    // Pins are exactly those of the jobs that hold experts.
    int32_t holders = 0;
    for (const JobStatus& row : bench_.scheduler.progress_table()) {
      const bool holds = row.state == JobState::kBlocked || row.state == JobState::kReady ||
                         row.state == JobState::kRunning;
      holders += holds ? 1 : 0;
      REQUIRE((row.missing > 0) == (row.state == JobState::kBlocked));
    }
    REQUIRE(bench_.pinned() == holders * kUsed);
  }

  std::mt19937 rng_;
  Bench bench_;
  int32_t next_request_ = 0;
  std::map<RequestId, int32_t> need_route_;  // request -> layer
  std::set<ExpertId> in_flight_;
  std::optional<Group> group_;
};

}  // namespace

TEST_CASE("random cancels, failures and shrinks lose nothing and hang nothing") {
  int32_t n_left = 0, n_done = 0;
  for (const char* policy : {"bevy", "lockstep-lru", "/fifo/fifo/lru/", "//global-srtf//"}) {
    for (uint32_t seed = 0; seed < 40; ++seed) {
      CAPTURE(policy);
      CAPTURE(seed);
      RandomPlay play(policy, seed);
      play.play_steps(12);
      n_left += play.n_left;
      n_done += play.n_done;
    }
  }
  CHECK(n_left > 500);  // the play does what it is for
  CHECK(n_done > 500);
}
