#include "sched/prefetch_queue.h"

#include <algorithm>

#include "base/error.h"

namespace runahead {

PrefetchQueue::PrefetchQueue(std::string_view prefetcher, const ModelShape& shape,
                             ExpertCache& cache)
    : cache_(cache), prefetcher_(make_prefetcher(prefetcher, shape)) {
  in_flight_.reserve(kMaxPrefetches);
}

ScoreNeeds PrefetchQueue::needs() const {
  return prefetcher_ == nullptr ? ScoreNeeds{} : prefetcher_->needs();
}

void PrefetchQueue::step_started(std::span<const RequestId> requests) {
  wanted_.clear();
  all_routed(INT32_MAX);
  if (prefetcher_ != nullptr) {
    prefetcher_->step_started(requests);
  }
}

void PrefetchQueue::routed(const RoutedJob& job) {
  if (prefetcher_ == nullptr) {
    return;
  }
  const std::span<const Prediction> predictions = prefetcher_->routed(job);
  // What the request has passed is known; what has been predicted again is replaced.
  std::erase_if(wanted_, [&](const Wanted& wanted) {
    return wanted.request == job.request &&
           (wanted.id.layer <= job.layer ||
            std::any_of(predictions.begin(), predictions.end(), [&](const Prediction& prediction) {
              return prediction.id.layer == wanted.id.layer;
            }));
  });
  for (const Prediction& prediction : predictions) {
    cache_.predicted(prediction.id, prediction.score);
    if (prediction.fetch) {  // also what is resident now, since it may be evicted before its layer
      wanted_.push_back({prediction.id, prediction.score, job.request});
    }
  }
}

void PrefetchQueue::left(RequestId request) {
  std::erase_if(wanted_, [&](const Wanted& wanted) { return wanted.request == request; });
}

void PrefetchQueue::all_routed(int32_t layer) {
  std::erase_if(kept_, [&](ExpertId id) {
    if (id.layer > layer) {
      return false;
    }
    cache_.let_prefetch_go(id);
    return true;
  });
}

bool PrefetchQueue::may_fetch(int32_t slots_needed) const {
  return in_flight_.size() < kMaxPrefetches &&
         std::any_of(
             wanted_.begin(), wanted_.end(),
             [&](const Wanted& wanted) { return can_fetch(wanted.id, slots_needed); });
}

bool PrefetchQueue::can_fetch(ExpertId id, int32_t slots_needed) const {
  const int32_t c = cache_.class_of(id);
  return cache_.residency(id) == Residency::kAbsent && cache_.available(c) > 0 &&
         cache_.capacity(c) - cache_.lent(c) > slots_needed;
}

std::optional<Fetch> PrefetchQueue::next(int32_t slots_needed) {
  if (in_flight_.size() >= kMaxPrefetches) {
    return std::nullopt;
  }
  auto first = wanted_.end();
  for (auto wanted = wanted_.begin(); wanted != wanted_.end(); ++wanted) {
    const bool before = first == wanted_.end() || wanted->id.layer < first->id.layer ||
                        (wanted->id.layer == first->id.layer && wanted->score > first->score);
    first = before && can_fetch(wanted->id, slots_needed) ? wanted : first;
  }
  if (first == wanted_.end()) {
    return std::nullopt;
  }
  const std::optional<Acquired> acquired = cache_.prefetch(first->id);
  CHECK(acquired.has_value());
  const Fetch fetch{first->id, acquired->slot, first->request, true};
  in_flight_.push_back(first->id);
  kept_.push_back(first->id);
  return fetch;
}

void PrefetchQueue::failed(ExpertId id) {
  std::erase_if(wanted_, [&](const Wanted& wanted) { return wanted.id == id; });
  fetched(id);
}

void PrefetchQueue::fetched(ExpertId id) {
  const bool prefetched = std::erase(in_flight_, id) > 0;
  if (prefetcher_ != nullptr) {
    prefetcher_->fetched(id, prefetched);
  }
}

}  // namespace runahead
