#include "cache/least_stale.h"

#include "base/error.h"

namespace runahead {

LeastStaleEviction::LeastStaleEviction(int32_t n_layer, int32_t n_expert)
    : current_(n_layer, n_expert), stale_(n_layer, n_expert) {}

void LeastStaleEviction::used(ExpertId id) {
  CHECK(!current_.contains(id) && !stale_.contains(id));
}

void LeastStaleEviction::evictable(ExpertId id, SlotId) {
  CHECK(!stale_.contains(id));
  current_.insert(id, id.layer);
}

void LeastStaleEviction::not_evictable(ExpertId id, SlotId) {
  (stale_.contains(id) ? stale_ : current_).erase(id);
}

ExpertId LeastStaleEviction::victim() const {
  return stale_.empty() ? current_.first() : stale_.first();
}

void LeastStaleEviction::step_started() {
  // In their order, so that of one layer the one unused longest stays so.
  while (!current_.empty()) {
    const ExpertId id = current_.first();
    current_.erase(id);
    stale_.insert(id, id.layer);
  }
}

void LeastStaleEviction::predicted(ExpertId id, float) {
  if (stale_.contains(id)) {
    stale_.erase(id);
    current_.insert(id, id.layer);
  }
}

}  // namespace runahead
