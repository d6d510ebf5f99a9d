// sim/score_reader.h
//
// ScoreReader gives a Scheduler the router scores of a recorded trace that its prefetcher needs.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policy/prefetcher.h"
#include "sched/scheduler.h"
#include "sim/routing_trace.h"

namespace runahead {

class ScoreReader {
 public:
  // `trace` outlives this. Throws Error(kInvalid) when the trace has too few of the scores.
  ScoreReader(const RoutingTrace& trace, const ScoreNeeds& needs);

  // Of the requests' jobs at `layer`, in their order. Valid until the next call. Throws
  // Error(kInvalid) for scores that are none.
  [[nodiscard]] std::span<const RouterScores> read(int32_t step,
                                                   std::span<const RequestId> requests,
                                                   int32_t layer);

 private:
  const RoutingTrace& trace_;
  ScoreNeeds needs_;
  size_t n_lookahead_ = 0;            // rows that a job has at most
  std::vector<float> probabilities_;  // [requests, n_expert]
  std::vector<float> lookahead_;      // [requests, n_lookahead_, n_expert]
  std::vector<RouterScores> scores_;
};

}  // namespace runahead
