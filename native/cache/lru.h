// cache/lru.h
//
// LruEviction gives up the expert that has been unused longest: one queue, in the order in which
// uses ended. Everything is O(1) and allocates nothing after the constructor.

#pragma once

#include "cache/evictable_queues.h"
#include "cache/eviction.h"

namespace runahead {

class LruEviction : public Eviction {
 public:
  LruEviction(int32_t n_layer, int32_t n_expert);

  void used(ExpertId id) override;
  void evictable(ExpertId id, SlotId slot) override;
  void not_evictable(ExpertId id, SlotId slot) override;
  [[nodiscard]] ExpertId victim() const override;

 private:
  EvictableQueues queue_;
};

}  // namespace runahead
