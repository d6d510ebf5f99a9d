// exec/expert_feed.h
//
// ExpertFeed joins the pure state machines (cache, scheduler, waves) with the readers: it is what
// they fetch from, and what the engine thread asks for slots. One mutex guards all of it; it is
// held for microseconds and never across reads or compute.

#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cache/expert_cache.h"
#include "cache/slot_pool.h"
#include "fetch/fetcher.h"
#include "policy/policy.h"
#include "sched/scheduler.h"
#include "sched/waves.h"
#include "store/expert_store.h"

namespace runahead {

class ExpertFeed final : public FetchSource {
 public:
  struct Failure {
    ExpertId id;
    std::string message;
    std::vector<RequestId> requests;  // of the step; empty while waves run
  };

  // `store` and `pools` (one per class) outlive this.
  ExpertFeed(const ExpertStore& store, const std::vector<std::unique_ptr<SlotPool>>& pools,
             const Policy& policy, const ModelShape& shape, const FetcherOptions& options);

  [[nodiscard]] std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }

  // REQUIRES for all below: the lock is held.
  [[nodiscard]] ExpertCache& cache() { return cache_; }
  [[nodiscard]] Scheduler& scheduler() { return *scheduler_; }
  [[nodiscard]] Waves& waves() { return waves_; }
  // Which of the two the readers serve.
  void serve_waves(bool waves) { serving_waves_ = waves; }
  void set_policy(const Policy& policy);
  void set_step(int32_t step) { step_ = step; }
  // New fetches were queued: wakes readers, one per miss, or kMaxPrefetches when only predictions
  // wait.
  void issued(std::span<const IssuedExpert> experts);
  // What waves pinned when a fetch ended, since the last call: for the trace, which has the engine
  // thread as writer.
  [[nodiscard]] std::vector<IssuedExpert> take_issued_by_readers();
  // Waits until a fetch ends, or notify().
  void wait(std::unique_lock<std::mutex>& lock);
  [[nodiscard]] std::vector<Failure> take_failures();
  // What readers reported to a step or layer that has been given up concerns nobody else.
  void forget_reports();
  // Slots of class c for `bytes` of cache over all classes, in proportion to their experts.
  [[nodiscard]] std::vector<int32_t> slots_for(uint64_t bytes) const;
  // The experts that had to leave at once.
  std::vector<ExpertId> set_slots(const std::vector<int32_t>& slots);
  [[nodiscard]] uint64_t fetched_bytes() const { return fetched_bytes_; }

  // Any thread, with or without the lock.
  void notify() { changed_.notify_all(); }
  [[nodiscard]] Fetcher& fetcher() { return *fetcher_; }

  // FetchSource, called by readers.
  std::optional<FetchTask> next_task() override;
  void put(const FetchTask& task, uint64_t offset, std::span<const std::byte> bytes) override;
  void task_finished(const FetchTask& task, const std::optional<std::string>& error) override;

 private:
  void issued_by_readers();
  // Whether a reader would look for a predicted expert.
  [[nodiscard]] bool may_prefetch() const;
  [[nodiscard]] SlotPool& pool_of(ExpertId id) {
    return *pools_[static_cast<size_t>(cache_.class_of(id))];
  }

  const ExpertStore& store_;
  const std::vector<std::unique_ptr<SlotPool>>& pools_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const ModelShape shape_;
  // Guarded by mutex_.
  ExpertCache cache_;
  std::unique_ptr<Scheduler> scheduler_;
  Waves waves_;
  bool serving_waves_ = false;
  int32_t step_ = -1;
  uint64_t fetched_bytes_ = 0;
  std::vector<Failure> failures_;
  std::vector<IssuedExpert> issued_by_readers_;

  std::unique_ptr<Fetcher> fetcher_;  // last: its readers use all of the above
};

}  // namespace runahead
