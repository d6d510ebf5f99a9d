// cache/lfuda.h
//
// LfudaEviction is least frequently used with dynamic ageing, after Arlitt, Cherkasova, Dilley,
// Friedrich and Jin, "Evaluating content management techniques for Web proxy caches" (SIGMETRICS
// Performance Evaluation Review 27(4), 2000): an expert's key is its uses since it came into the
// cache plus the cache's age, and the age is the key of the last expert evicted. So whoever has
// been a favourite and is used no more is overtaken in time. Ties go to the one unused longest.
//
// A key is made at a use, with the age of that moment, and does not grow older. An expert that was
// prefetched and not used yet counts no use. O(log n), nothing is allocated after the constructor.

#pragma once

#include <vector>

#include "cache/evictable_heap.h"
#include "cache/eviction.h"

namespace runahead {

class LfudaEviction : public Eviction {
 public:
  LfudaEviction(int32_t n_layer, int32_t n_expert);

  void used(ExpertId id) override;
  void evictable(ExpertId id, SlotId slot) override;
  void not_evictable(ExpertId id, SlotId slot) override;
  [[nodiscard]] ExpertId victim() const override;
  void left(ExpertId id) override;

 private:
  struct Expert {
    uint64_t uses = 0;  // since it came into the cache
    uint64_t key = 0;
  };
  EvictableHeap<uint64_t> heap_;  // by key
  std::vector<Expert> experts_;   // [n_layer * n_expert]
  uint64_t age_ = 0;              // never falls, though a pinned expert's key may be older
};

}  // namespace runahead
