#include "cache/lfu.h"

#include "base/error.h"

namespace runahead {

LfuEviction::LfuEviction(int32_t n_layer, int32_t n_expert)
    : heap_(n_layer, n_expert), uses_(heap_.n_index()) {}

void LfuEviction::used(ExpertId id) {
  CHECK(!heap_.contains(id));  // its rank would go stale
  ++uses_[heap_.index_of(id)];
}

void LfuEviction::evictable(ExpertId id, SlotId) {
  heap_.insert(id, uses_[heap_.index_of(id)]);
}

void LfuEviction::not_evictable(ExpertId id, SlotId) {
  heap_.erase(id);
}

ExpertId LfuEviction::victim() const {
  return heap_.first();
}

}  // namespace runahead
