// sim/score_reader.h
//
// ScoreReader gives a Scheduler the router scores of a recorded trace that its prefetcher needs.

#pragma once

#include <cstdint>
#include <vector>

#include "policy/prefetcher.h"
#include "sched/scheduler.h"
#include "sim/routing_trace.h"

namespace runahead {

class ScoreReader {
 public:
  // `trace` outlives this. Throws Error(kInvalid) when the trace has too few of the scores.
  ScoreReader(const RoutingTrace& trace, const ScoreNeeds& needs);

  // Of one job. Valid until the next call. Throws Error(kInvalid) for scores that are none.
  [[nodiscard]] RouterScores read(int32_t step, int32_t request, int32_t layer);

 private:
  const RoutingTrace& trace_;
  ScoreNeeds needs_;
  std::vector<float> probabilities_;
  std::vector<float> lookahead_;
};

}  // namespace runahead
