#include "exec/routing_log.h"

#include <algorithm>
#include <utility>

namespace runahead {

void RoutingLog::record(int32_t n_lookahead) {
  const std::lock_guard guard(mutex_);
  rows_ = {};
  n_lookahead = std::min(n_lookahead, shape_.n_layer - 1);  // there are no more routers
  rows_.n_lookahead = std::max(0, n_lookahead);
  n_lookahead_ = n_lookahead;
}

ScoreNeeds RoutingLog::needs() const {
  const int32_t n_lookahead = n_lookahead_;
  return {n_lookahead >= 0, std::max(0, n_lookahead)};
}

void RoutingLog::add(int32_t step, const RoutedJob& job) {
  if (n_lookahead_ < 0) {
    return;
  }
  const std::lock_guard guard(mutex_);
  const auto n_expert = static_cast<size_t>(shape_.n_expert);
  const auto n_ahead = static_cast<size_t>(rows_.n_lookahead) * n_expert;
  // A step that began before recording did has no scores.
  if (job.probabilities.size() != n_expert) {
    return;
  }
  if ((rows_.probabilities.size() + rows_.lookahead.size()) * sizeof(float) > kMaxBytes) {
    ++rows_.dropped;
    return;
  }
  rows_.step.push_back(step);
  rows_.request.push_back(to_int(job.request));
  rows_.layer.push_back(job.layer);
  rows_.experts.insert(rows_.experts.end(), job.experts.begin(), job.experts.end());
  rows_.probabilities.insert(rows_.probabilities.end(), job.probabilities.begin(),
                             job.probabilities.end());
  const auto ahead = job.lookahead.first(std::min(job.lookahead.size(), n_ahead));
  rows_.lookahead.insert(rows_.lookahead.end(), ahead.begin(), ahead.end());
  rows_.lookahead.resize(rows_.step.size() * n_ahead);
}

RoutingRows RoutingLog::take() {
  const std::lock_guard guard(mutex_);
  RoutingRows empty;
  empty.n_lookahead = rows_.n_lookahead;
  return std::exchange(rows_, std::move(empty));
}

}  // namespace runahead
