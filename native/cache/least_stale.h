// cache/least_stale.h
//
// LeastStaleEviction is the policy of Hoang, Jaiswal, Samragh and Cho, "SpecMD: A comprehensive
// study on speculative expert prefetching" (ICML 2026, arXiv 2602.03921). A forward pass goes
// through the layers from front to back, so how recently an expert was used says less about when it
// is needed next than whether this pass has to do with it, and where its layer is. The cache is
// parted in two:
//
//   current   used, brought in or predicted during the current forward pass
//   stale     all others; they go first
//
// Within both, the expert whose layer's turn is furthest away goes first: that is the layer that
// the pass has just left, then those before it down to the first, then the last layer, down to the
// one that the pass is at. Ties, within a layer, go to the one that was used or became current the
// longest ago. What the paper says of the order within a part leaves readings open; this one never
// fetched more than LRU in our replays, others did.
//
// A step of several requests is one pass, and it is at the layer of the latest job. victim() and
// step_started() are O(layers), all else is O(1). Nothing is allocated after the constructor.

#pragma once

#include <vector>

#include "cache/evictable_queues.h"
#include "cache/eviction.h"

namespace runahead {

class LeastStaleEviction : public Eviction {
 public:
  LeastStaleEviction(int32_t n_layer, int32_t n_expert);

  void used(ExpertId id) override;
  void evictable(ExpertId id, SlotId slot) override;
  void not_evictable(ExpertId id, SlotId slot) override;
  [[nodiscard]] ExpertId victim() const override;
  void missed(ExpertId id) override;
  void step_started() override;
  void predicted(ExpertId id, float probability) override;

 private:
  [[nodiscard]] int32_t stale_queue(int32_t layer) const { return layer; }
  [[nodiscard]] int32_t current_queue(int32_t layer) const { return n_layer_ + layer; }
  [[nodiscard]] uint64_t& pass_of(ExpertId id);

  int32_t n_layer_;
  int32_t n_expert_;
  int32_t layer_ = 0;  // where the pass is
  uint64_t pass_ = 1;
  EvictableQueues queues_;        // two per layer
  std::vector<uint64_t> passes_;  // [n_layer * n_expert] in which it last became current
};

}  // namespace runahead
