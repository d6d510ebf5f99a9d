#include "cache/finemoe.h"

#include <algorithm>

#include "base/error.h"

namespace runahead {

FineMoeEviction::FineMoeEviction(int32_t n_layer, int32_t n_expert)
    : heap_(n_layer, n_expert), experts_(heap_.n_index(), Expert{0, 1.0 / n_expert, 0}) {}

void FineMoeEviction::used(ExpertId id) {
  CHECK(!heap_.contains(id));
  ++experts_[heap_.index_of(id)].uses;
}

void FineMoeEviction::evictable(ExpertId id, SlotId) {
  heap_.insert(id, experts_[heap_.index_of(id)].rank());
}

void FineMoeEviction::not_evictable(ExpertId id, SlotId) {
  heap_.erase(id);
}

ExpertId FineMoeEviction::victim() const {
  return heap_.first();
}

void FineMoeEviction::step_started() {
  ++step_;
}

void FineMoeEviction::predicted(ExpertId id, float probability) {
  CHECK(probability >= 0);  // and no NaN, which would spoil the order
  Expert& expert = experts_[heap_.index_of(id)];
  const bool again = expert.predicted_in == step_;
  expert.probability = again ? std::max<double>(expert.probability, probability) : probability;
  expert.predicted_in = step_;
  if (heap_.contains(id)) {
    heap_.set_rank(id, expert.rank());
  }
}

}  // namespace runahead
