#include "store/expert_loop.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/error.h"

namespace runahead {
namespace {

constexpr std::chrono::milliseconds kProgressInterval{200};

struct Shared {
  std::mutex mutex;
  std::condition_variable changed;  // a worker ended
  std::vector<ExpertId> experts;
  size_t next = 0;
  uint64_t done_bytes = 0;
  int32_t n_running = 0;
  bool stop = false;
  std::exception_ptr error;  // the first
};

// However the caller leaves, workers take no more experts.
class StopAtExit {
 public:
  explicit StopAtExit(Shared& shared) : shared_(shared) {}
  ~StopAtExit() {
    const std::lock_guard lock(shared_.mutex);
    shared_.stop = true;
  }
  StopAtExit(const StopAtExit&) = delete;
  StopAtExit& operator=(const StopAtExit&) = delete;

 private:
  Shared& shared_;
};

void run_worker(Shared& shared, const StoreLayout& layout,
                const std::function<ExpertWork()>& make_worker) {
  try {
    const ExpertWork work = make_worker();
    std::unique_lock lock(shared.mutex);
    while (!shared.stop && shared.next < shared.experts.size()) {
      const ExpertId id = shared.experts[shared.next++];
      lock.unlock();
      work(id);
      lock.lock();
      shared.done_bytes += layout.record_bytes(id);
    }
  } catch (...) {
    const std::lock_guard lock(shared.mutex);
    shared.stop = true;
    if (shared.error == nullptr) {
      shared.error = std::current_exception();
    }
  }
  const std::lock_guard lock(shared.mutex);
  --shared.n_running;
  shared.changed.notify_all();
}

}  // namespace

int32_t default_store_threads() {
  return std::clamp(static_cast<int32_t>(std::thread::hardware_concurrency()), 4, 8);
}

void for_each_expert(const StoreLayout& layout, int32_t n_threads,
                     const std::function<ExpertWork()>& make_worker,
                     const StoreProgress& progress) {
  CHECK(n_threads > 0);
  Shared shared;
  for (int32_t layer = 0; layer < layout.n_layer; ++layer) {
    for (int32_t expert = 0;
         layout.class_of_layer[static_cast<size_t>(layer)] >= 0 && expert < layout.n_expert;
         ++expert) {
      shared.experts.push_back({layer, expert});
    }
  }
  const uint64_t total_bytes = layout.total_bytes();
  shared.n_running = n_threads;
  bool cancelled = false;
  {
    std::vector<std::jthread> workers;
    const StopAtExit stop_at_exit(shared);
    for (int32_t i = 0; i < n_threads; ++i) {
      workers.emplace_back([&] { run_worker(shared, layout, make_worker); });
    }
    std::unique_lock lock(shared.mutex);
    while (shared.n_running > 0) {
      shared.changed.wait_for(lock, kProgressInterval, [&] { return shared.n_running == 0; });
      if (progress && !shared.stop) {
        const uint64_t done_bytes = shared.done_bytes;
        lock.unlock();
        const bool go_on = progress(done_bytes, total_bytes);
        lock.lock();
        if (!go_on) {
          cancelled = true;
          shared.stop = true;
        }
      }
    }
  }
  if (shared.error != nullptr) {
    std::rethrow_exception(shared.error);
  }
  if (cancelled) {
    throw Error(ErrorCode::kCancelled, "cancelled");
  }
}

}  // namespace runahead
