// sched/waves.h
//
// Waves computes the experts of one layer when they may be more than the cache holds: prefill
// chunks, and decode with a cache smaller than the deadlock rule wants. Experts
// are pinned as slots allow, resident ones first; every wave takes those that are ready, and its
// release lets more in. Each expert is fetched at most once.
//
// An expert of the layer waits (for a slot), is pinned (queued, in flight or ready), runs, and is
// done. Resident ones are all pinned at begin(), so what a later one evicts is never still to be
// computed.
//
// A pure state machine like Scheduler, under the same lock; only one of the two is active at a
// time. O(1) per fetch, O(experts) per layer and wave.

#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sched/scheduler.h"

namespace runahead {

class Waves {
 public:
  // `cache` outlives the waves.
  explicit Waves(ExpertCache& cache);

  // Begins a layer for `request`. Experts are distinct. Returns issued().
  // REQUIRES: the previous layer is finished; capacity of the layer's class >= 1.
  std::span<const IssuedExpert> begin(RequestId request, int32_t layer,
                                      std::span<const int32_t> experts);
  // What the last begin(), fetch_finished(), fetch_failed() or finish_wave() pinned, for the trace.
  [[nodiscard]] std::span<const IssuedExpert> issued() const;

  // The expert to read next, in the order given to begin(); it is then in flight.
  [[nodiscard]] std::optional<Fetch> next_fetch();
  [[nodiscard]] bool has_fetch() const;
  [[nodiscard]] int32_t n_queued() const;
  // True: a wave became possible. Both also take experts that this layer does not wait for.
  bool fetch_finished(ExpertId id);
  // True: the layer needs it, so it cannot be completed: as abandon().
  bool fetch_failed(ExpertId id);
  // Gives the layer up: releases everything but a wave on the device. Fetches in flight complete
  // unpinned.
  void abandon();

  // The ready experts not computed yet (all of them), with their slots, in the order given to
  // begin(); nullopt: wait for a fetch, or finished. They stay pinned until finish_wave.
  struct Wave {
    std::vector<int32_t> experts;
    std::vector<SlotId> slots;
  };
  [[nodiscard]] std::optional<Wave> next_wave();
  // Releases the wave's pins and pins more.
  void finish_wave(const Wave& wave);
  // Every expert is done, or the layer was given up; no wave is on the device.
  [[nodiscard]] bool finished() const;

 private:
  enum class State : uint8_t { kUnused, kWaiting, kPinned, kRunning };
  struct Expert {
    State state = State::kUnused;  // kUnused also when done
    bool ready = false;            // kPinned: its bytes are there
  };

  [[nodiscard]] Expert& at(int32_t expert) { return experts_[static_cast<size_t>(expert)]; }
  [[nodiscard]] bool waits_for(ExpertId id) const;
  // Pins `expert` if it can.
  bool pin(int32_t expert);
  void pin_more();

  ExpertCache& cache_;
  RequestId request_{};
  int32_t layer_ = -1;
  std::vector<Expert> experts_;  // [n_expert]
  std::vector<int32_t> order_;   // experts of the layer that are not done, as given to begin()
  std::vector<Fetch> queue_;     // those before queue_head_ are in flight or there
  size_t queue_head_ = 0;
  int32_t n_waiting_ = 0;
  int32_t n_ready_ = 0;  // kPinned and ready
  std::vector<IssuedExpert> issued_;
};

}  // namespace runahead
