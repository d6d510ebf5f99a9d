// sim/routing_trace.h
//
// RoutingTrace is which experts the routers chose, recorded from a run or made up: the input of a
// Simulation.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

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

  [[nodiscard]] std::span<const int32_t> at(int32_t step, int32_t request, int32_t layer) const {
    const auto row = (static_cast<size_t>(step) * static_cast<size_t>(n_request) +
                      static_cast<size_t>(request)) *
                         static_cast<size_t>(n_layer) +
                     static_cast<size_t>(layer);
    return std::span(experts).subspan(row * static_cast<size_t>(n_expert_used),
                                      static_cast<size_t>(n_expert_used));
  }
  [[nodiscard]] bool is_active(int32_t step, int32_t request) const {
    return at(step, request, 0)[0] >= 0;
  }

  // Throws Error(kInvalid) naming the step, request, layer and value that do not fit the shape.
  void validate() const;
};

}  // namespace runahead
