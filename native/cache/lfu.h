// cache/lfu.h
//
// LfuEviction gives up the expert with the fewest uses since the engine opened, of those the one
// unused longest. Absent experts keep their counts. A binary heap that knows where each expert is:
// O(log n), and nothing is allocated after the constructor.

#pragma once

#include <compare>
#include <vector>

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
  struct Node {
    uint64_t uses;
    uint64_t since;  // when it became evictable, by clock_
    int32_t index;   // layer * n_expert + expert
    auto operator<=>(const Node&) const = default;
  };
  [[nodiscard]] int32_t index_of(ExpertId id) const { return id.layer * n_expert_ + id.expert; }
  void put(size_t place, const Node& node);
  // Moves `node` from the hole at `place` to where it belongs.
  void settle(size_t place, const Node& node);

  int32_t n_expert_;
  uint64_t clock_ = 0;
  std::vector<uint64_t> uses_;   // [n_layer * n_expert]
  std::vector<int32_t> places_;  // [n_layer * n_expert] where in heap_, -1: not evictable
  std::vector<Node> heap_;       // smallest first
};

}  // namespace runahead
