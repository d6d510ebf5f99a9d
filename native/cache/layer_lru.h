// cache/layer_lru.h
//
// LayerLruEviction gives every layer its own LRU cache, of equal size: what Mixtral-Offloading
// (Eliseev and Mazur 2023, arXiv 2312.17238) does, and a cache with so many slots per layer. LRU
// over all layers at once gives up just what the next layers need, whenever a pass brings in more
// experts than there are slots.
//
// The victim is the oldest of the layer that holds most, where the expert that comes counts for its
// layer: so layers stay equal without knowing the capacity. A layer whose experts are all pinned is
// passed over. victim() is O(layers), all else O(1); nothing is allocated after the constructor.

#pragma once

#include <vector>

#include "cache/evictable_queues.h"
#include "cache/eviction.h"

namespace runahead {

class LayerLruEviction : public Eviction {
 public:
  LayerLruEviction(int32_t n_layer, int32_t n_expert);

  void used(ExpertId id) override;
  void evictable(ExpertId id, SlotId slot) override;
  void not_evictable(ExpertId id, SlotId slot) override;
  [[nodiscard]] ExpertId victim() const override;
  void makes_room(ExpertId id) override { incoming_layer_ = id.layer; }
  void left(ExpertId id) override;

 private:
  // Counts the expert among its layer's unless it is already.
  void came(ExpertId id);

  int32_t n_layer_;
  int32_t n_expert_;
  int32_t incoming_layer_ = 0;
  EvictableQueues queues_;      // one per layer
  std::vector<bool> present_;   // [n_layer * n_expert]
  std::vector<int32_t> count_;  // [n_layer] of those present
};

}  // namespace runahead
