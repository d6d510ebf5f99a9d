// sim/belady.h
//
// BeladyEviction knows the future: it gives up the expert whose next use in a RoutingTrace is
// furthest away, first of all one that is not used again (Belady, "A study of replacement
// algorithms for a virtual-storage computer", IBM Systems Journal 5(2), 1966). No policy fetches
// fewer experts when the steps run layer by layer, as lockstep does, and nothing is prefetched. So
// it is the bound that the others are measured against.
//
// A use is one request's, at (step, layer); used() takes them off in that order. Where requests run
// ahead of each other the order within a step is another than the trace's, and Belady is very good
// but no bound. Ties go to the expert unused longest.
//
// O(log n), and nothing is allocated after the constructor.

#pragma once

#include <memory>
#include <vector>

#include "cache/evictable_heap.h"
#include "cache/eviction.h"
#include "sim/routing_trace.h"

namespace runahead {

// When each expert is used: one entry per step and request that uses it, in the order of steps.
class FutureUses {
 public:
  // REQUIRES: trace.validate() does not throw. Does not keep the trace.
  explicit FutureUses(const RoutingTrace& trace);

  static constexpr int32_t kNever = INT32_MAX;
  [[nodiscard]] int32_t n_layer() const { return n_layer_; }
  [[nodiscard]] int32_t n_expert() const { return n_expert_; }
  // The step of the use number `n` of the expert of that index (layer * n_expert + expert).
  [[nodiscard]] int32_t step_of(size_t index, size_t n) const {
    const size_t at = begins_[index] + n;
    return at < begins_[index + 1] ? steps_[at] : kNever;
  }

 private:
  int32_t n_layer_;
  int32_t n_expert_;
  std::vector<size_t> begins_;  // [n_layer * n_expert + 1] into steps_
  std::vector<int32_t> steps_;
};

class BeladyEviction : public Eviction {
 public:
  explicit BeladyEviction(std::shared_ptr<const FutureUses> future);

  // REQUIRES: `id` has a use left: the driver plays the trace, once.
  void used(ExpertId id) override;
  void evictable(ExpertId id, SlotId slot) override;
  void not_evictable(ExpertId id, SlotId slot) override;
  [[nodiscard]] ExpertId victim() const override;

 private:
  // Furthest next use first. An expert stays in the heap only while it is not used, so its rank
  // does not change there.
  EvictableHeap<int64_t> heap_;
  std::shared_ptr<const FutureUses> future_;
  std::vector<size_t> n_used_;  // [n_layer * n_expert]
};

// For ExpertCache: each slot class gets an instance that begins at the first step of `trace`, which
// need not outlive the call.
[[nodiscard]] EvictionFactory belady_eviction(const RoutingTrace& trace);

}  // namespace runahead
