// sim/routing_trace.h
//
// RoutingTrace is which experts the routers chose, recorded from a run or made up, and where it was
// recorded what they scored all experts: the input of a Simulation.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/score_array.h"

namespace runahead {

struct RoutingTrace {
  int32_t n_step = 0;
  int32_t n_request = 0;
  int32_t n_layer = 0;        // layers that have experts
  int32_t n_expert = 0;       // per layer
  int32_t n_expert_used = 0;  // per token and layer
  // [n_step, n_request, n_layer, n_expert_used], distinct within a layer. A request whose first
  // number in a step is -1 takes no part in that step.
  std::vector<int32_t> experts;
  // [n_step, n_request, n_layer, n_expert] softmax of the layer's router; empty: not recorded.
  ScoreArray probabilities = {};
  int32_t n_lookahead = 0;
  // [n_step, n_request, n_layer, n_lookahead, n_expert]: row d of layer l is the softmax of the
  // router of layer l + 1 + d, applied to what the router of l has read. Rows beyond the last layer
  // mean nothing.
  ScoreArray lookahead = {};

  // Of a job, in arrays [n_step, n_request, n_layer, ..].
  [[nodiscard]] size_t index_of(int32_t step, int32_t request, int32_t layer) const {
    return (static_cast<size_t>(step) * static_cast<size_t>(n_request) +
            static_cast<size_t>(request)) *
               static_cast<size_t>(n_layer) +
           static_cast<size_t>(layer);
  }
  [[nodiscard]] std::span<const int32_t> at(int32_t step, int32_t request, int32_t layer) const {
    const auto used = static_cast<size_t>(n_expert_used);
    return std::span(experts).subspan(index_of(step, request, layer) * used, used);
  }
  [[nodiscard]] bool is_active(int32_t step, int32_t request) const {
    return at(step, request, 0)[0] >= 0;
  }

  // Throws Error(kInvalid) naming the step, request, layer and value that do not fit the shape.
  // Scores are checked when they are read.
  void validate() const;
};

}  // namespace runahead
