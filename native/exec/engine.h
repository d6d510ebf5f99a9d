// exec/engine.h
//
// Engine is one open model: it admits requests, prefills and decodes them on its own thread, and
// hands out what happened. The life of a request is told in ARCHITECTURE.md.
//
// Public functions may be called from any thread and never wait for compute. Requests and events
// meet in the RequestTable; the cache is resized by the caller directly, under the feed's lock;
// policies change between steps.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "exec/expert_feed.h"
#include "exec/forward.h"
#include "exec/open_model.h"
#include "exec/request_loop.h"
#include "exec/request_table.h"
#include "exec/routing_log.h"
#include "exec/stepper.h"
#include "exec/tracer.h"

namespace runahead {

struct EngineOptions {
  ModelOptions model;
  uint64_t cache_bytes = 0;  // 0: all experts
  Policy policy;
  FetcherOptions fetcher;
};

struct CacheSize {
  uint64_t bytes = 0;
  int64_t slots = 0;
  std::string reason;  // why it is not what was asked for; "" when it is
};

struct EngineStats {
  uint64_t steps = 0;
  CacheCounters cache;
  uint64_t fetched_bytes = 0;
  int64_t cache_slots = 0;
  int64_t cache_in_use = 0;
  uint64_t cache_bytes = 0;
  int32_t active_requests = 0;
  int32_t queued_requests = 0;
  uint64_t dropped_records = 0;
};

class Engine {
 public:
  // Throws Error; nothing is left behind then.
  Engine(const std::string& model_path, const EngineOptions& options, const OpenProgress& progress);
  // Stops and joins.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Ends running requests as cancelled, and every wait; nothing is accepted from now on.
  void stop();

  // Throws Error(kInvalid) for an empty or too long prompt, an unknown or busy session, bad
  // sampling options.
  int32_t submit(RequestOptions options);
  void close_session(int32_t session);
  void cancel(int32_t request);
  // Sessions, events, kept logits.
  [[nodiscard]] RequestTable& requests() { return requests_; }

  CacheSize set_cache(uint64_t bytes);
  // From the next step on. `cold` empties the cache and forgets use counts.
  void set_policy(const Policy& policy, bool cold);
  void set_link(uint64_t bytes_per_s);

  [[nodiscard]] EngineStats stats();
  size_t drain(std::vector<Record>& out);
  // Off at first; see RoutingLog.
  [[nodiscard]] RoutingLog& routing_log() { return routing_log_; }
  [[nodiscard]] std::vector<JobStatus> progress_table();

  [[nodiscard]] const OpenModel& model() const { return model_; }
  [[nodiscard]] const EngineOptions& options() const { return options_; }
  // The smallest cache in which one request can run by the scheduler.
  [[nodiscard]] uint64_t min_cache_bytes() const;

 private:
  void run();
  // Nobody runs, so nothing may be held.
  void check_idle();
  void wake();
  [[nodiscard]] CacheSize cache_size(std::string reason);

  EngineOptions options_;
  OpenModel model_;
  const Hparams& hparams_;
  Tracer tracer_{1 << 16};
  RoutingLog routing_log_;
  std::unique_ptr<ExpertFeed> feed_;
  std::unique_ptr<DeviceMemory> memory_;
  std::unique_ptr<Forward> forward_;
  std::unique_ptr<Stepper> stepper_;

  RequestTable requests_;

  std::unique_ptr<RequestLoop> loop_;

  std::mutex mutex_;
  std::condition_variable work_;  // for the engine thread
  // Guarded by mutex_.
  std::optional<std::pair<Policy, bool>> new_policy_;
  bool stop_ = false;

  // Resizes come from any thread, but the tracer has one writer. Guarded by the feed's lock.
  std::vector<Record> resizes_;
  std::mutex drain_mutex_;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace runahead
