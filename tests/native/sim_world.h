// One small model's steps, played on Scheduler and ExpertCache beside a plain model of what the
// paper says about them; after every event the two must agree.

#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/expert_cache.h"
#include "policy/policy.h"
#include "sched/scheduler.h"

namespace runahead::test {

inline constexpr int32_t kRequests = 3, kLayers = 3, kExperts = 5, kUsed = 2, kReaders = 2;

using Experts = std::array<int32_t, kUsed>;
using Routing = std::array<std::array<Experts, kLayers>, kRequests>;  // [request][layer]

struct Setup {
  std::string policy;
  int32_t slots = 0;
  bool eager = true;           // readers and device take work as soon as there is some
  std::vector<Routing> steps;  // all but the last are played in one order, to warm the cache
};

// What an event is: take a fetch, take a group, finish the group, or finish the fetch number event
// - kFinishFetch.
enum Event : int8_t { kTakeFetch, kTakeGroup, kFinishGroup, kFinishFetch };

// Scheduler and cache beside the plain model of them.
class World {
 public:
  explicit World(const Setup& setup)
      : setup_(setup),
        policy_(parse_policy(setup.policy)),
        cache_({kLayers, kExperts, std::vector<int32_t>(kLayers, 0), {kLayers * kExperts}},
               policy_.eviction),
        scheduler_(policy_, cache_, {kLayers, kExperts, kUsed}) {
    cache_.set_capacity(0, setup.slots);
    start_step();
  }

  [[nodiscard]] std::vector<int8_t> enabled() const;
  // Plays the events of `path`; all but the last have been checked before.
  void replay(const std::vector<int8_t>& path);
  void apply(int8_t event);
  [[nodiscard]] bool finished() const { return step_ == setup_.steps.size(); }
  [[nodiscard]] bool in_last_step() const { return step_ + 1 >= setup_.steps.size(); }
  [[nodiscard]] const std::vector<int8_t>& path() const { return path_; }

  // Everything that the future depends on. Slot numbers are left out: they decide nothing.
  [[nodiscard]] std::string key() const;

 private:
  struct Expert {
    bool loading = false;
    bool ready = false;
    int32_t pins = 0;
    int32_t uses = 0;
  };
  struct Job {
    int32_t layer = 0;
    bool running = false;
    bool done = false;
  };

  // The path makes a failure repeatable.
  void must(bool condition, const char* what) const;
  static int32_t index_of(ExpertId id) { return id.layer * kExperts + id.expert; }
  static ExpertId id_of(int32_t index) { return {index / kExperts, index % kExperts}; }
  [[nodiscard]] Expert& expert(int32_t index) { return experts_[static_cast<size_t>(index)]; }
  [[nodiscard]] const Expert& expert(int32_t index) const {
    return experts_[static_cast<size_t>(index)];
  }
  // The experts of request `r`'s current job, as indices.
  [[nodiscard]] Experts needs(size_t r) const;
  [[nodiscard]] int32_t missing(size_t r) const;
  [[nodiscard]] bool is_queued(int32_t e) const;
  [[nodiscard]] bool can_take_fetch() const;

  void start_step();
  void end_step();
  void take_all();
  void route(const std::vector<int32_t>& requests, int32_t layer);
  void expect_issued(size_t r, std::span<const IssuedExpert> issued);
  void expect_eviction(const std::optional<ExpertId>& evicted);
  [[nodiscard]] int32_t expected_fetch() const;
  void take_fetch();
  void finish_fetch(size_t i);
  [[nodiscard]] bool is_blocked(size_t r) const { return !jobs_[r].done && missing(r) > 0; }

  // Requests, in step order; empty: nothing may run.
  [[nodiscard]] std::vector<int32_t> expected_group() const;
  void take_group();
  void finish_group();
  void check() const;

  const Setup& setup_;
  Policy policy_;
  ExpertCache cache_;
  Scheduler scheduler_;
  size_t step_ = 0;
  std::array<Job, kRequests> jobs_;
  std::array<Expert, kLayers * kExperts> experts_{};
  std::vector<int32_t> queue_;      // experts, in the order of queueing
  std::vector<int32_t> in_flight_;  // experts, sorted
  std::vector<int32_t> let_go_;     // experts, in the order in which their last pin went
  std::vector<int32_t> ready_;      // requests, in the order in which they became ready
  std::optional<Group> device_;
  std::array<std::array<int32_t, kLayers>, kRequests> n_run_{};
  std::vector<int8_t> path_;
  bool is_replay_ = false;
};

}  // namespace runahead::test
