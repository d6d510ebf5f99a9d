#include "policy/next_router.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace runahead {
namespace {

class NextRouter final : public Prefetcher {
 public:
  NextRouter(const ModelShape& shape, double overfetch)
      : n_(std::min(shape.n_expert,
                    static_cast<int32_t>(std::lround(overfetch * shape.n_expert_used)))),
        order_(static_cast<size_t>(shape.n_expert)) {}

  ScoreNeeds needs() const override { return {.probabilities = false, .n_lookahead = 1}; }

  std::span<const Prediction> routed(const RoutedJob& job) override {
    predictions_.clear();
    if (!job.lookahead.empty()) {
      const std::span<const float> scores = job.lookahead.first(order_.size());
      std::iota(order_.begin(), order_.end(), 0);
      const auto surer = [&](int32_t a, int32_t b) {
        return scores[static_cast<size_t>(a)] > scores[static_cast<size_t>(b)];
      };
      std::partial_sort(order_.begin(), order_.begin() + n_, order_.end(), surer);
      for (int32_t i = 0; i < n_; ++i) {
        const int32_t expert = order_[static_cast<size_t>(i)];
        predictions_.push_back({{job.layer + 1, expert}, scores[static_cast<size_t>(expert)]});
      }
    }
    return predictions_;
  }

 private:
  int32_t n_;
  std::vector<int32_t> order_;
  std::vector<Prediction> predictions_;
};

}  // namespace

std::unique_ptr<Prefetcher> make_next_router(const ModelShape& shape, double overfetch) {
  return std::make_unique<NextRouter>(shape, overfetch);
}

}  // namespace runahead
