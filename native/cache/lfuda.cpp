#include "cache/lfuda.h"

#include <algorithm>

#include "base/error.h"

namespace runahead {

LfudaEviction::LfudaEviction(int32_t n_layer, int32_t n_expert)
    : heap_(n_layer, n_expert), experts_(heap_.n_index()) {}

void LfudaEviction::used(ExpertId id) {
  CHECK(!heap_.contains(id));
  Expert& expert = experts_[heap_.index_of(id)];
  expert.key = ++expert.uses + age_;
}

void LfudaEviction::evictable(ExpertId id, SlotId) {
  Expert& expert = experts_[heap_.index_of(id)];
  if (expert.uses == 0) {
    expert.key = age_;
  }
  heap_.insert(id, expert.key);
}

void LfudaEviction::not_evictable(ExpertId id, SlotId) {
  heap_.erase(id);
}

ExpertId LfudaEviction::victim() const {
  return heap_.first();
}

void LfudaEviction::left(ExpertId id) {
  Expert& expert = experts_[heap_.index_of(id)];
  if (heap_.contains(id)) {  // evicted, else its load came to nothing
    age_ = std::max(age_, expert.key);
  }
  expert = {};
}

}  // namespace runahead
