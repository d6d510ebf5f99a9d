// cache/least_stale.h
//
// LeastStaleEviction is the policy of Hoang, Jaiswal, Samragh and Cho, "SpecMD: A comprehensive
// study on speculative expert prefetching" (ICML 2026, arXiv 2602.03921). A forward pass goes
// through the layers from front to back, so how recently an expert was used says little about when
// it is needed next; whether the current pass has to do with it says more. The cache is parted in
// two:
//
//   current   used, brought in or predicted during the current forward pass
//   stale     all others; they go first
//
// Within both, experts go in the order in which the pass reaches their layers, so that what the
// pass has behind it goes before what it has ahead. Ties, within a layer, go to the one unused
// longest. A step of several requests is one forward pass.
//
// O(log n), but step_started() is O(log n) for every expert that grows stale, at most one per use.
// Nothing is allocated after the constructor.

#pragma once

#include "cache/evictable_heap.h"
#include "cache/eviction.h"

namespace runahead {

class LeastStaleEviction : public Eviction {
 public:
  LeastStaleEviction(int32_t n_layer, int32_t n_expert);

  void used(ExpertId id) override;
  void evictable(ExpertId id, SlotId slot) override;
  void not_evictable(ExpertId id, SlotId slot) override;
  [[nodiscard]] ExpertId victim() const override;
  void step_started() override;
  void predicted(ExpertId id, float probability) override;

 private:
  // By layer. An expert that becomes evictable was in use or arrived during this pass, so it is
  // current; only step_started() makes experts stale.
  EvictableHeap<int32_t> current_;
  EvictableHeap<int32_t> stale_;
};

}  // namespace runahead
