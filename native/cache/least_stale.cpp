#include "cache/least_stale.h"

#include "base/error.h"

namespace runahead {

LeastStaleEviction::LeastStaleEviction(int32_t n_layer, int32_t n_expert)
    : n_layer_(n_layer),
      n_expert_(n_expert),
      queues_(n_layer, n_expert, 2 * n_layer),
      passes_(static_cast<size_t>(n_layer) * static_cast<size_t>(n_expert)) {}

void LeastStaleEviction::used(ExpertId id) {
  CHECK(!queues_.contains(id));
  layer_ = id.layer;
}

void LeastStaleEviction::evictable(ExpertId id, SlotId) {
  // Its use ended, or it arrived, during this pass.
  queues_.push(current_queue(id.layer), id);
  pass_of(id) = pass_;
}

void LeastStaleEviction::not_evictable(ExpertId id, SlotId) {
  queues_.erase(id);
}

ExpertId LeastStaleEviction::victim() const {
  for (const int32_t first_queue : {stale_queue(0), current_queue(0)}) {
    for (int32_t back = 1; back <= n_layer_; ++back) {
      const int32_t queue = first_queue + (layer_ - back + n_layer_) % n_layer_;
      if (!queues_.empty(queue)) {
        return queues_.front(queue);
      }
    }
  }
  check_failed("some expert is evictable", __FILE__, __LINE__);
}

void LeastStaleEviction::missed(ExpertId id) {
  layer_ = id.layer;
}

void LeastStaleEviction::step_started() {
  ++pass_;
  layer_ = 0;
  for (int32_t layer = 0; layer < n_layer_; ++layer) {
    queues_.append(current_queue(layer), stale_queue(layer));
  }
}

void LeastStaleEviction::predicted(ExpertId id, float) {
  if (queues_.contains(id) && pass_of(id) != pass_) {
    queues_.erase(id);
    queues_.push(current_queue(id.layer), id);
    pass_of(id) = pass_;
  }
}

uint64_t& LeastStaleEviction::pass_of(ExpertId id) {
  return passes_[static_cast<size_t>(id.layer) * static_cast<size_t>(n_expert_) +
                 static_cast<size_t>(id.expert)];
}

}  // namespace runahead
