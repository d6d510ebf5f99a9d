#include "cache/layer_lru.h"

#include "base/error.h"

namespace runahead {

LayerLruEviction::LayerLruEviction(int32_t n_layer, int32_t n_expert)
    : n_layer_(n_layer),
      n_expert_(n_expert),
      queues_(n_layer, n_expert, n_layer),
      present_(static_cast<size_t>(n_layer) * static_cast<size_t>(n_expert)),
      count_(static_cast<size_t>(n_layer)) {}

void LayerLruEviction::came(ExpertId id) {
  const auto index = static_cast<size_t>(id.layer * n_expert_ + id.expert);
  count_[static_cast<size_t>(id.layer)] += present_[index] ? 0 : 1;
  present_[index] = true;
}

void LayerLruEviction::left(ExpertId id) {
  const auto index = static_cast<size_t>(id.layer * n_expert_ + id.expert);
  count_[static_cast<size_t>(id.layer)] -= present_[index] ? 1 : 0;
  present_[index] = false;
}

void LayerLruEviction::used(ExpertId id) {
  CHECK(!queues_.contains(id));
  came(id);
}

void LayerLruEviction::evictable(ExpertId id, SlotId) {
  came(id);
  queues_.push(id.layer, id);
}

void LayerLruEviction::not_evictable(ExpertId id, SlotId) {
  queues_.erase(id);
}

ExpertId LayerLruEviction::victim() const {
  int32_t fullest = -1;
  int32_t most = -1;
  for (int32_t layer = 0; layer < n_layer_; ++layer) {
    const bool incoming = layer == incoming_layer_;
    const int32_t count = count_[static_cast<size_t>(layer)] + (incoming ? 1 : 0);
    if (!queues_.empty(layer) && (count > most || (count == most && incoming))) {
      fullest = layer;
      most = count;
    }
  }
  CHECK(fullest >= 0);
  return queues_.front(fullest);
}

}  // namespace runahead
