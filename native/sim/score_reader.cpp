#include "sim/score_reader.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace runahead {

ScoreReader::ScoreReader(const RoutingTrace& trace, const ScoreNeeds& needs)
    : trace_(trace), needs_(needs) {
  const auto n_expert = static_cast<size_t>(trace.n_expert);
  if (needs.probabilities) {
    if (trace.probabilities.empty()) {
      throw Error(ErrorCode::kInvalid,
                  "simulation: the policy's prefetcher asks for the routers' probabilities, the "
                  "trace has none; record one with scores");
    }
    probabilities_.resize(n_expert);
  }
  if (needs.n_lookahead > 0) {
    // No layer has more layers after it.
    const int32_t most = std::min(needs.n_lookahead, trace.n_layer - 1);
    if (trace.n_lookahead < most) {
      throw Error(ErrorCode::kInvalid, "simulation: the policy's prefetcher looks " +
                                           std::to_string(most) + " layers ahead, the trace only " +
                                           std::to_string(trace.n_lookahead) +
                                           "; record one with a longer lookahead");
    }
    lookahead_.resize(static_cast<size_t>(most) * n_expert);
  }
}

RouterScores ScoreReader::read(int32_t step, int32_t request, int32_t layer) {
  RouterScores scores;
  const size_t job = trace_.index_of(step, request, layer);
  const auto n_expert = static_cast<size_t>(trace_.n_expert);
  if (needs_.probabilities) {
    trace_.probabilities.read(job * n_expert, probabilities_);
    scores.probabilities = probabilities_;
  }
  if (needs_.n_lookahead > 0) {
    const auto n_row =
        static_cast<size_t>(std::min(needs_.n_lookahead, trace_.n_layer - 1 - layer));
    const std::span<float> rows = std::span(lookahead_).first(n_row * n_expert);
    trace_.lookahead.read(job * static_cast<size_t>(trace_.n_lookahead) * n_expert, rows);
    scores.lookahead = rows;
  }
  return scores;
}

}  // namespace runahead
