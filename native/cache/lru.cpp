#include "cache/lru.h"

#include "base/error.h"

namespace runahead {

LruEviction::LruEviction(int32_t n_layer, int32_t n_expert) : queue_(n_layer, n_expert, 1) {}

void LruEviction::used(ExpertId id) {
  CHECK(!queue_.contains(id));
}

void LruEviction::evictable(ExpertId id, SlotId) {
  queue_.push(0, id);
}

void LruEviction::not_evictable(ExpertId id, SlotId) {
  queue_.erase(id);
}

ExpertId LruEviction::victim() const {
  return queue_.front(0);
}

}  // namespace runahead
