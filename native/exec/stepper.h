// exec/stepper.h
//
// Stepper drives one model's requests through the device: decode steps by the scheduler's decisions
// (paper 4.1), or by expert waves where the cache is smaller than the deadlock rule wants, and
// prefill chunks by waves. It knows nothing of queues, sessions' lives or events; the RequestLoop
// does.
//
// Engine thread only. A request that fails or is cancelled on the way is reported in its Result;
// others go on.

#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "exec/expert_feed.h"
#include "exec/forward.h"
#include "exec/request.h"
#include "exec/routing_log.h"
#include "exec/tracer.h"
#include "exec/wave_runner.h"

namespace runahead {

class Stepper {
 public:
  // How a request came out of a step or chunk.
  struct Result {
    Request* request = nullptr;
    bool cancelled = false;
    std::string error;  // "" unless it failed
    [[nodiscard]] bool left() const { return cancelled || !error.empty(); }
  };

  Stepper(Forward& forward, ExpertFeed& feed, Tracer& tracer, const Hparams& hparams,
          RoutingLog& routing_log, int32_t prefill_chunk)
      : forward_(forward),
        feed_(feed),
        tracer_(tracer),
        hparams_(hparams),
        routing_log_(routing_log),
        waves_(forward, feed, tracer, hparams),
        prefill_chunk_(prefill_chunk) {}

  // One token for every request: computes next_token, writes its keys and values. Fills `logits`
  // [requests that did not leave, n_vocab] in the order of the results. Throws when the device
  // fails; then the step is over and nothing is pinned. REQUIRES: their KV caches have room.
  std::vector<Result> decode(std::span<Request* const> requests, std::vector<float>& logits);

  // The next chunk of a prompt. After the last one `logits` holds those of the last position
  // [n_vocab]. With keep_logits those of all positions are appended to the request's.
  Result prefill(Request& request, std::vector<float>& logits);

  // Whether the last decode had to share waves of experts, since the cache was too small for the
  // scheduler.
  [[nodiscard]] bool used_waves() const { return used_waves_; }

 private:
  struct State {  // of a request within a step
    Request* request;
    std::vector<int32_t> experts;  // of the current job
    std::vector<float> weights;
    std::string error;
    bool cancelled = false;
  };

  // Begins a step of the scheduler, unless the cache is smaller than the deadlock rule wants
  // (paper 4.4).
  [[nodiscard]] bool start_step(const std::vector<State>& states);
  // Takes all requests out of a step that an exception ended.
  void abandon_step(std::vector<State>& states);
  // Runs layer 0's attention and router for all; the batch of all.
  Batch front(const std::vector<State>& states, RoutingResult& routing);
  // Tokens of the next prefill chunk.
  [[nodiscard]] int32_t chunk_length(const Request& request, int32_t position) const;
  void decode_by_scheduler(std::vector<State>& states);
  void decode_by_waves(std::vector<State>& states);
  // The columns that chose the expert leave the batch.
  void leave_who_needs(const ExpertFeed::Failure& failure, std::vector<State*>& going, Batch& batch,
                       RoutingResult& routing) const;
  // Issues the jobs of `layer` that were routed together: states[i] is column i of `routing`,
  // nullptr: it has left. REQUIRES: the feed's lock is held.
  void issue(std::span<State* const> states, int32_t layer, const RoutingResult& routing);
  // What the routers said of one column. Valid until the next issue().
  [[nodiscard]] RouterScores scores_of(const RoutingResult& routing, size_t column);
  void leave_cancelled(std::vector<State>& states);
  [[nodiscard]] static bool all_cancelled(const std::vector<State>& states);
  void leave_failed(std::vector<State>& states);
  [[nodiscard]] Lane lane_of(const Request& request) const;
  void wait(std::unique_lock<std::mutex>& lock);

  Forward& forward_;
  ExpertFeed& feed_;
  Tracer& tracer_;
  const Hparams& hparams_;
  RoutingLog& routing_log_;
  WaveRunner waves_;
  int32_t prefill_chunk_;
  int32_t step_ = 0;
  int32_t n_groups_ = 0;
  int64_t waited_ns_ = 0;
  bool used_waves_ = false;
  ScoreNeeds prefetcher_needs_;
  std::vector<float> lookahead_;  // of the columns being issued, one after the other
  std::vector<RoutedRequest> routed_;
};

}  // namespace runahead
