#include "sim/score_reader.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace runahead {

ScoreReader::ScoreReader(const RoutingTrace& trace, const ScoreNeeds& needs)
    : trace_(trace), needs_(needs) {
  if (needs.probabilities && trace.probabilities.empty()) {
    throw Error(ErrorCode::kInvalid,
                "simulation: the policy's prefetcher asks for the routers' probabilities, the "
                "trace has none; record one with scores");
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
    n_lookahead_ = static_cast<size_t>(most);
  }
}

std::span<const RouterScores> ScoreReader::read(int32_t step, std::span<const RequestId> requests,
                                                int32_t layer) {
  const auto n_expert = static_cast<size_t>(trace_.n_expert);
  const auto n_row = std::min(n_lookahead_, static_cast<size_t>(trace_.n_layer - 1 - layer));
  scores_.assign(requests.size(), {});
  probabilities_.resize(needs_.probabilities ? requests.size() * n_expert : 0);
  lookahead_.resize(requests.size() * n_lookahead_ * n_expert);
  for (size_t i = 0; i < requests.size(); ++i) {
    const size_t job = trace_.index_of(step, to_int(requests[i]), layer);
    if (needs_.probabilities) {
      const std::span<float> row = std::span(probabilities_).subspan(i * n_expert, n_expert);
      trace_.probabilities.read(job * n_expert, row);
      scores_[i].probabilities = row;
    }
    if (n_lookahead_ > 0) {
      const std::span<float> rows =
          std::span(lookahead_).subspan(i * n_lookahead_ * n_expert, n_row * n_expert);
      trace_.lookahead.read(job * static_cast<size_t>(trace_.n_lookahead) * n_expert, rows);
      scores_[i].lookahead = rows;
    }
  }
  return scores_;
}

}  // namespace runahead
