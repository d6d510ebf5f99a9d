// policy/top_experts.h
//
// Picks the experts with the highest scores of a layer; among equal scores the lower index. Keeps
// its memory between calls.

#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace runahead {

class TopExperts {
 public:
  explicit TopExperts(int32_t n_expert) : order_(static_cast<size_t>(n_expert)) {}

  // The min(n, n_expert) best of `scores` [n_expert], best first. Valid until the next call.
  [[nodiscard]] std::span<const int32_t> of(std::span<const float> scores, int32_t n) {
    const size_t n_best = std::min(order_.size(), static_cast<size_t>(std::max(n, 0)));
    std::iota(order_.begin(), order_.end(), 0);
    std::partial_sort(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(n_best),
                      order_.end(), [scores](int32_t a, int32_t b) {
                        const float score_a = scores[static_cast<size_t>(a)];
                        const float score_b = scores[static_cast<size_t>(b)];
                        return score_a != score_b ? score_a > score_b : a < b;
                      });
    return {order_.data(), n_best};
  }

 private:
  std::vector<int32_t> order_;
};

}  // namespace runahead
