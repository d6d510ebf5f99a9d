// sched/prefetch_queue.h
//
// PrefetchQueue is what a Prefetcher has predicted and nobody has read yet: nearest layer first,
// there the surest. A prediction counts while its expert is absent, and until its request's true
// routing of that layer is known.
//
// What has been read is kept in the cache until every request of the step has been routed at its
// layer: by then who needs it has pinned it. A slot is taken for one only while enough others
// remain for every job of the step (the deadlock rule). At most kMaxPrefetches are in flight, so
// missing experts are delayed by no more than the (at most two) reads that have already begun
// (paper, section 5.1).
//
// Pure, as the Scheduler that owns it.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cache/expert_cache.h"
#include "policy/prefetcher.h"
#include "sched/fetch.h"

namespace runahead {

constexpr size_t kMaxPrefetches = 2;

class PrefetchQueue {
 public:
  // `cache` outlives the queue. Throws Error(kInvalid) for an unknown prefetcher.
  PrefetchQueue(std::string_view prefetcher, const ModelShape& shape, ExpertCache& cache);

  [[nodiscard]] ScoreNeeds needs() const;
  void step_started(std::span<const RequestId> requests);
  void routed(const RoutedJob& job);
  // The request has left the step: nobody needs what it may need.
  void left(RequestId request);
  // All requests of the step have been routed at `layer`.
  void all_routed(int32_t layer);
  // Whether next() would find something to read.
  [[nodiscard]] bool may_fetch(int32_t slots_needed) const;
  // The next predicted expert whose slot class has room, now loading. `slots_needed`: what the
  // step's jobs may pin in each slot class.
  [[nodiscard]] std::optional<Fetch> next(int32_t slots_needed);
  // A read of any kind has ended.
  void fetched(ExpertId id);
  // It could not be read; nobody tries again for this prediction.
  void failed(ExpertId id);

 private:
  struct Wanted {
    ExpertId id;
    float score;
    RequestId request;
  };
  // It is absent, and a slot can be had for it.
  [[nodiscard]] bool can_fetch(ExpertId id, int32_t slots_needed) const;

  ExpertCache& cache_;
  std::unique_ptr<Prefetcher> prefetcher_;  // nullptr: none
  std::vector<Wanted> wanted_;
  std::vector<ExpertId> in_flight_;
  std::vector<ExpertId> kept_;
};

}  // namespace runahead
