#include "exec/expert_feed.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace runahead {
namespace {

CacheGeometry geometry_of(const StoreLayout& layout,
                          const std::vector<std::unique_ptr<SlotPool>>& pools) {
  CacheGeometry geometry{layout.n_layer, layout.n_expert, layout.class_of_layer, {}};
  for (const auto& pool : pools) {
    geometry.max_slots.push_back(pool->max_slots());
  }
  return geometry;
}

}  // namespace

ExpertFeed::ExpertFeed(const ExpertStore& store,
                       const std::vector<std::unique_ptr<SlotPool>>& pools, const Policy& policy,
                       const ModelShape& shape, const FetcherOptions& options)
    : store_(store),
      pools_(pools),
      shape_(shape),
      cache_(geometry_of(store.layout(), pools), policy.eviction),
      scheduler_(std::make_unique<Scheduler>(policy, cache_, shape)),
      waves_(cache_) {
  cache_.on_slot_given_up = [this](int32_t c, SlotId slot) {
    pools_[static_cast<size_t>(c)]->give_up(slot);
  };
  fetcher_ = std::make_unique<Fetcher>(store, *this, options);
}

void ExpertFeed::set_policy(const Policy& policy) {
  auto scheduler = std::make_unique<Scheduler>(policy, cache_, shape_);
  cache_.set_eviction(policy.eviction);
  scheduler_ = std::move(scheduler);
}

void ExpertFeed::issued(std::span<const IssuedExpert> experts) {
  int32_t misses = 0;
  for (const IssuedExpert& expert : experts) {
    misses += expert.acquired.outcome == Outcome::kMiss ? 1 : 0;
  }
  if (misses > 0 || may_prefetch()) {
    fetcher_->wake(misses > 0 ? misses : static_cast<int32_t>(kMaxPrefetches));
  }
}

bool ExpertFeed::may_prefetch() const {
  return !serving_waves_ && scheduler_->may_prefetch();
}

void ExpertFeed::wait(std::unique_lock<std::mutex>& lock) {
  changed_.wait(lock);
}

void ExpertFeed::issued_by_readers() {
  const auto experts = waves_.issued();
  issued(experts);
  issued_by_readers_.insert(issued_by_readers_.end(), experts.begin(), experts.end());
}

std::vector<IssuedExpert> ExpertFeed::take_issued_by_readers() {
  return std::exchange(issued_by_readers_, {});
}

std::vector<ExpertFeed::Failure> ExpertFeed::take_failures() {
  return std::exchange(failures_, {});
}

std::vector<int32_t> ExpertFeed::slots_for(uint64_t bytes) const {
  const StoreLayout& layout = store_.layout();
  const double fraction =
      std::min(1.0, static_cast<double>(bytes) / static_cast<double>(layout.total_bytes()));
  std::vector<int32_t> slots;
  for (size_t c = 0; c < layout.classes.size(); ++c) {
    // Half a slot of slack, so that bytes computed from a number of slots give that number again.
    slots.push_back(static_cast<int32_t>(
        fraction * static_cast<double>(layout.n_experts_in(static_cast<int32_t>(c))) + 0.5));
  }
  return slots;
}

void ExpertFeed::forget_reports() {
  failures_.clear();
  issued_by_readers_.clear();
}

std::vector<ExpertId> ExpertFeed::set_slots(const std::vector<int32_t>& slots) {
  std::vector<ExpertId> evicted;
  for (size_t c = 0; c < slots.size(); ++c) {
    for (const ExpertCache::Vacated& vacated :
         cache_.set_capacity(static_cast<int32_t>(c), slots[c])) {
      pools_[c]->give_up(vacated.slot);
      evicted.push_back(vacated.id);
    }
  }
  changed_.notify_all();  // a step may be waiting for slots
  return evicted;
}

std::optional<FetchTask> ExpertFeed::next_task() {
  const std::lock_guard guard(mutex_);
  const std::optional<Fetch> fetch =
      serving_waves_ ? waves_.next_fetch() : scheduler_->next_fetch();
  if (!fetch) {
    return std::nullopt;
  }
  FetchTask task;
  task.id = fetch->id;
  task.slot = fetch->slot;
  task.destination = pool_of(fetch->id).host_pointer(fetch->slot);
  task.request = to_int(fetch->request);
  task.step = step_;
  task.prefetch = fetch->prefetch;
  return task;
}

void ExpertFeed::put(const FetchTask& task, uint64_t offset, std::span<const std::byte> bytes) {
  pool_of(task.id).put(task.slot, offset, bytes);
}

void ExpertFeed::task_finished(const FetchTask& task, const std::optional<std::string>& error) {
  const std::lock_guard guard(mutex_);
  if (serving_waves_) {
    scheduler_->fetch_taken_over(task.id);
  }
  const bool was_unpinned = cache_.pins(task.id) == 0;  // a step may wait for its slot
  bool changed = true;
  if (error) {
    // What cancelled jobs left behind may fail, too: that ends nobody.
    Failure failure{task.id, *error, {}};
    bool needed = false;
    if (serving_waves_) {
      needed = changed = waves_.fetch_failed(task.id);
      issued_by_readers();
    } else {
      failure.requests = scheduler_->fetch_failed(task.id);
      needed = !failure.requests.empty();
    }
    if (needed) {
      failures_.push_back(std::move(failure));
    }
  } else {
    fetched_bytes_ += store_.layout().record_bytes(task.id);
    changed = serving_waves_ ? waves_.fetch_finished(task.id) : scheduler_->fetch_finished(task.id);
    if (serving_waves_) {
      issued_by_readers();
    }
  }
  // This reader asks again by itself; a second one may be wanted when missing experts gave way.
  if (!task.prefetch && may_prefetch()) {
    fetcher_->wake(1);
  }
  if (changed || was_unpinned) {
    changed_.notify_all();
  }
}

}  // namespace runahead
