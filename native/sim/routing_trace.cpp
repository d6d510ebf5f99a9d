#include "sim/routing_trace.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace runahead {

void RoutingTrace::validate() const {
  const auto positive = [](const char* name, int32_t value) {
    if (value <= 0) {
      throw Error(ErrorCode::kInvalid, "routing trace: " + std::string(name) + " is " +
                                           std::to_string(value) + ", must be at least 1");
    }
  };
  positive("n_step", n_step);
  positive("n_request", n_request);
  positive("n_layer", n_layer);
  positive("n_expert", n_expert);
  positive("n_expert_used", n_expert_used);
  const size_t n_job =
      static_cast<size_t>(n_step) * static_cast<size_t>(n_request) * static_cast<size_t>(n_layer);
  const auto sized = [](const char* what, size_t found, size_t expected) {
    if (found != expected) {
      throw Error(ErrorCode::kInvalid, "routing trace: has " + std::to_string(found) + " " + what +
                                           ", its shape needs " + std::to_string(expected));
    }
  };
  sized("expert numbers", experts.size(), n_job * static_cast<size_t>(n_expert_used));
  if (!probabilities.empty()) {
    sized("probabilities", probabilities.size(), n_job * static_cast<size_t>(n_expert));
  }
  if (n_lookahead < 0) {
    throw Error(ErrorCode::kInvalid,
                "routing trace: n_lookahead is " + std::to_string(n_lookahead));
  }
  sized("lookahead scores", lookahead.size(),
        n_job * static_cast<size_t>(n_lookahead) * static_cast<size_t>(n_expert));
  for (int32_t step = 0; step < n_step; ++step) {
    for (int32_t request = 0; request < n_request; ++request) {
      if (!is_active(step, request)) {
        continue;
      }
      for (int32_t layer = 0; layer < n_layer; ++layer) {
        const std::span<const int32_t> row = at(step, request, layer);
        for (auto e = row.begin(); e != row.end(); ++e) {
          const bool in_range = *e >= 0 && *e < n_expert;
          if (!in_range || std::find(row.begin(), e, *e) != e) {
            throw Error(ErrorCode::kInvalid,
                        "routing trace: step " + std::to_string(step) + " request " +
                            std::to_string(request) + " layer " + std::to_string(layer) +
                            ": expert " + std::to_string(*e) +
                            (in_range ? " is named twice"
                                      : " is not in 0 .. " + std::to_string(n_expert - 1)));
          }
        }
      }
    }
  }
}

}  // namespace runahead
