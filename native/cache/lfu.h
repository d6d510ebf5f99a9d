// cache/lfu.h
//
// LfuEviction gives up the expert with the fewest uses since the engine opened, of those the one
// unused longest. Absent experts keep their counts. O(log n), nothing is allocated after the
// constructor.

#pragma once

#include <vector>

#include "cache/evictable_heap.h"
#include "cache/eviction.h"

namespace runahead {

class LfuEviction : public Eviction {
 public:
  LfuEviction(int32_t n_layer, int32_t n_expert);

  void used(ExpertId id) override;
  void evictable(ExpertId id, SlotId slot) override;
  void not_evictable(ExpertId id, SlotId slot) override;
  [[nodiscard]] ExpertId victim() const override;

 private:
  EvictableHeap<uint64_t> heap_;  // by uses
  std::vector<uint64_t> uses_;    // [n_layer * n_expert]
};

}  // namespace runahead
