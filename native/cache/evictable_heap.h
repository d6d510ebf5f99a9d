// cache/evictable_heap.h
//
// EvictableHeap holds the experts that may be evicted, lowest rank first and, within a rank, the
// one unused longest. A binary heap that knows where each expert is: an expert can be taken out or
// ranked anew wherever it stands. O(log n), and nothing is allocated after the constructor.

#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "base/ids.h"

namespace runahead {

// Rank: totally ordered, cheap to copy; no NaN.
template <class Rank>
class EvictableHeap {
 public:
  EvictableHeap(int32_t n_layer, int32_t n_expert)
      : n_expert_(n_expert),
        places_(static_cast<size_t>(n_layer) * static_cast<size_t>(n_expert), -1) {
    heap_.reserve(places_.size());
  }

  // Of per-expert arrays, [n_layer * n_expert].
  [[nodiscard]] size_t index_of(ExpertId id) const {
    return static_cast<size_t>(id.layer) * static_cast<size_t>(n_expert_) +
           static_cast<size_t>(id.expert);
  }
  [[nodiscard]] size_t n_index() const { return places_.size(); }

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] bool contains(ExpertId id) const { return places_[index_of(id)] != -1; }
  // REQUIRES: !empty().
  [[nodiscard]] ExpertId first() const {
    CHECK(!heap_.empty());
    return heap_.front().id;
  }

  // Its last use ends now. REQUIRES: !contains(id).
  void insert(ExpertId id, Rank rank) {
    CHECK(!contains(id));
    heap_.push_back({rank, ++clock_, id});
    settle(heap_.size() - 1, heap_.back());
  }
  // REQUIRES: contains(id).
  void erase(ExpertId id) {
    const size_t hole = place_of(id);
    places_[index_of(id)] = -1;
    const Node last = heap_.back();
    heap_.pop_back();
    if (hole < heap_.size()) {
      settle(hole, last);
    }
  }
  // It stays as long unused as it was. REQUIRES: contains(id).
  void set_rank(ExpertId id, Rank rank) {
    const size_t place = place_of(id);
    settle(place, {rank, heap_[place].since, id});
  }

 private:
  struct Node {
    Rank rank;
    uint64_t since;  // when it was inserted, by clock_
    ExpertId id;
    auto operator<=>(const Node&) const = default;
  };

  [[nodiscard]] size_t place_of(ExpertId id) const {
    CHECK(contains(id));
    return static_cast<size_t>(places_[index_of(id)]);
  }
  void put(size_t place, const Node& node) {
    heap_[place] = node;
    places_[index_of(node.id)] = static_cast<int32_t>(place);
  }
  // Moves `node` from the hole at `place` to where it belongs.
  void settle(size_t place, const Node node) {
    while (place > 0 && node < heap_[(place - 1) / 2]) {
      put(place, heap_[(place - 1) / 2]);
      place = (place - 1) / 2;
    }
    for (;;) {
      size_t child = 2 * place + 1;
      if (child + 1 < heap_.size() && heap_[child + 1] < heap_[child]) {
        ++child;
      }
      if (child >= heap_.size() || node < heap_[child]) {
        break;
      }
      put(place, heap_[child]);
      place = child;
    }
    put(place, node);
  }

  int32_t n_expert_;
  uint64_t clock_ = 0;
  std::vector<int32_t> places_;  // [n_layer * n_expert] where in heap_, -1: not there
  std::vector<Node> heap_;
};

}  // namespace runahead
