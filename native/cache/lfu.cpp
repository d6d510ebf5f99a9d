#include "cache/lfu.h"

#include "base/error.h"

namespace runahead {

LfuEviction::LfuEviction(int32_t n_layer, int32_t n_expert)
    : n_expert_(n_expert),
      uses_(static_cast<size_t>(n_layer) * static_cast<size_t>(n_expert)),
      places_(uses_.size(), -1) {
  heap_.reserve(uses_.size());
}

void LfuEviction::used(ExpertId id) {
  const auto index = static_cast<size_t>(index_of(id));
  CHECK(places_[index] == -1);  // its key in the heap would go stale
  ++uses_[index];
}

void LfuEviction::evictable(ExpertId id, SlotId) {
  const int32_t index = index_of(id);
  CHECK(places_[static_cast<size_t>(index)] == -1);
  const Node node{uses_[static_cast<size_t>(index)], ++clock_, index};
  heap_.push_back(node);
  settle(heap_.size() - 1, node);
}

void LfuEviction::not_evictable(ExpertId id, SlotId) {
  int32_t& place = places_[static_cast<size_t>(index_of(id))];
  CHECK(place != -1);
  const auto hole = static_cast<size_t>(place);
  place = -1;
  const Node last = heap_.back();
  heap_.pop_back();
  if (hole < heap_.size()) {
    settle(hole, last);
  }
}

ExpertId LfuEviction::victim() const {
  CHECK(!heap_.empty());
  const int32_t index = heap_.front().index;
  return {index / n_expert_, index % n_expert_};
}

void LfuEviction::put(size_t place, const Node& node) {
  heap_[place] = node;
  places_[static_cast<size_t>(node.index)] = static_cast<int32_t>(place);
}

void LfuEviction::settle(size_t place, const Node& node) {
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

}  // namespace runahead
