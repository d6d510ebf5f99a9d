// cache/lru.h
//
// LruEviction gives up the expert that has been unused longest: a doubly linked list in the order
// in which uses ended. Everything is O(1) and allocates nothing after the constructor.

#pragma once

#include <vector>

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
  // links_[layer * n_expert + expert]; the last link is the ring's head: its next is the oldest,
  // its previous the newest. next == -1: not evictable.
  struct Link {
    int32_t previous = -1;
    int32_t next = -1;
  };
  [[nodiscard]] int32_t index_of(ExpertId id) const { return id.layer * n_expert_ + id.expert; }
  [[nodiscard]] Link& at(int32_t index) { return links_[static_cast<size_t>(index)]; }

  int32_t n_expert_;
  int32_t head_;
  std::vector<Link> links_;
};

}  // namespace runahead
