// sched/waves.h
//
// Waves computes the experts of one layer when they may be more than the cache holds: prefill chunks, and decode
// with a cache smaller than the deadlock rule wants (DESIGN section 9). Experts are pinned as slots allow, resident ones
// first; every wave takes those that are ready, and its release lets more in. Each expert is fetched at most once.
//
// A pure state machine like Scheduler, under the same lock; only one of the two is active at a time.

#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sched/scheduler.h"

namespace runahead {

class Waves {
 public:
  explicit Waves(ExpertCache& cache);

  // Begins a layer for `request`. Experts are distinct.
  // REQUIRES: the previous layer is finished; capacity of the layer's class >= 1.
  std::span<const IssuedExpert> begin(RequestId request, int32_t layer, std::span<const int32_t> experts);
  // What was pinned since the last call of begin() or finish_wave(), for the trace.
  [[nodiscard]] std::span<const IssuedExpert> issued() const;

  [[nodiscard]] std::optional<Fetch> next_fetch();
  [[nodiscard]] bool has_fetch() const;
  [[nodiscard]] int32_t n_queued() const;
  bool fetch_finished(ExpertId id);   // true: a wave became possible
  // The layer cannot be completed: releases everything, finished() becomes true.
  void fetch_failed(ExpertId id);
  // Fetches in flight complete unpinned.
  void abandon();

  // The ready experts not computed yet (all of them), with their slots; nullopt: wait for a fetch, or finished.
  struct Wave {
    std::vector<int32_t> experts;
    std::vector<SlotId> slots;
  };
  [[nodiscard]] std::optional<Wave> next_wave();
  // Releases the wave's pins and pins more.
  void finish_wave(const Wave& wave);
  [[nodiscard]] bool finished() const;
};

}  // namespace runahead
