#include "sim/belady.h"

#include <utility>

#include "base/error.h"

namespace runahead {
namespace {

// Calls f(index of the expert, step) for every use, in the order of steps.
template <class F>
void for_each_use(const RoutingTrace& trace, F f) {
  for (int32_t step = 0; step < trace.n_step; ++step) {
    for (int32_t request = 0; request < trace.n_request; ++request) {
      if (!trace.is_active(step, request)) {
        continue;
      }
      for (int32_t layer = 0; layer < trace.n_layer; ++layer) {
        for (const int32_t expert : trace.at(step, request, layer)) {
          f(static_cast<size_t>(layer) * static_cast<size_t>(trace.n_expert) +
                static_cast<size_t>(expert),
            step);
        }
      }
    }
  }
}

}  // namespace

FutureUses::FutureUses(const RoutingTrace& trace)
    : n_layer_(trace.n_layer),
      n_expert_(trace.n_expert),
      begins_(static_cast<size_t>(n_layer_) * static_cast<size_t>(n_expert_) + 1) {
  for_each_use(trace, [&](size_t index, int32_t) { ++begins_[index + 1]; });
  for (size_t i = 1; i < begins_.size(); ++i) {
    begins_[i] += begins_[i - 1];
  }
  steps_.resize(begins_.back());
  std::vector<size_t> ends(begins_.begin(), begins_.end() - 1);
  for_each_use(trace, [&](size_t index, int32_t step) { steps_[ends[index]++] = step; });
}

BeladyEviction::BeladyEviction(std::shared_ptr<const FutureUses> future)
    : heap_(future->n_layer(), future->n_expert()),
      future_(std::move(future)),
      n_used_(heap_.n_index()) {}

void BeladyEviction::used(ExpertId id) {
  CHECK(!heap_.contains(id));
  const size_t index = heap_.index_of(id);
  CHECK(future_->step_of(index, n_used_[index]) != FutureUses::kNever);
  ++n_used_[index];
}

void BeladyEviction::evictable(ExpertId id, SlotId) {
  const size_t index = heap_.index_of(id);
  const int64_t step = future_->step_of(index, n_used_[index]);
  heap_.insert(id, -(step * future_->n_layer() + id.layer));
}

void BeladyEviction::not_evictable(ExpertId id, SlotId) {
  heap_.erase(id);
}

ExpertId BeladyEviction::victim() const {
  return heap_.first();
}

EvictionFactory belady_eviction(const RoutingTrace& trace) {
  return [future = std::make_shared<const FutureUses>(trace)](int32_t n_layer, int32_t n_expert) {
    CHECK(n_layer == future->n_layer() && n_expert == future->n_expert());
    return std::make_unique<BeladyEviction>(future);
  };
}

}  // namespace runahead
