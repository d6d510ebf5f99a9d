// Random steps with cancels, failures and shrinks.

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "sched_bench.h"

using namespace runahead;
using namespace runahead::test;

namespace {

// Plays random steps at the smallest allowed cache and checks what must always hold.
class RandomPlay {
 public:
  RandomPlay(const char* policy, uint32_t seed)
      : rng_(seed), bench_(policy, 6, kLayers, kExperts) {}

  void play_steps(int32_t n) {
    for (int32_t i = 0; i < n; ++i) {
      // Fetches that cancelled jobs left behind may have to arrive first.
      while (!bench_.scheduler.can_start(kRequests)) {
        REQUIRE(!in_flight_.empty());
        finish_fetch(false);
      }
      play_step();
    }
    while (!in_flight_.empty()) {
      finish_fetch(false);
    }
    check();
    REQUIRE(bench_.cache.lent(0) == 0);
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
    REQUIRE(bench_.scheduler.n_queued() == 0);
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
        bench_.cache.set_capacity(0, kRequests * kUsed + bench_.cache.lent(0) + pick(4));
    }
  }

  // One request, or as many as happen to be at its layer.
  void route(RequestId first) {
    const int32_t layer = need_route_[first];
    const bool together = pick(2) == 0;
    std::vector<std::pair<RequestId, std::vector<int32_t>>> jobs;
    for (const auto& [request, at] : need_route_) {
      if (request == first || (together && at == layer)) {
        std::vector<int32_t> experts(kExperts);
        std::iota(experts.begin(), experts.end(), 0);
        std::shuffle(experts.begin(), experts.end(), rng_);
        experts.resize(kUsed);
        jobs.emplace_back(request, experts);
      }
    }
    bench_.route(layer, jobs);
    for (const auto& job : jobs) {
      need_route_.erase(job.first);
    }
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
