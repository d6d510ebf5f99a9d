#include "policy/next_router.h"

#include <cmath>
#include <vector>

#include "policy/top_experts.h"

namespace runahead {
namespace {

class NextRouter final : public Prefetcher {
 public:
  NextRouter(const ModelShape& shape, double overfetch)
      : n_expert_(static_cast<size_t>(shape.n_expert)),
        n_(static_cast<int32_t>(std::lround(overfetch * shape.n_expert_used))),
        top_(shape.n_expert) {}

  ScoreNeeds needs() const override { return {.probabilities = false, .n_lookahead = 1}; }

  std::span<const Prediction> routed(const RoutedJob& job) override {
    predictions_.clear();
    if (!job.lookahead.empty()) {
      const std::span<const float> scores = job.lookahead.first(n_expert_);
      for (const int32_t expert : top_.of(scores, n_)) {
        predictions_.push_back({{job.layer + 1, expert}, scores[static_cast<size_t>(expert)]});
      }
    }
    return predictions_;
  }

 private:
  size_t n_expert_;
  int32_t n_;
  TopExperts top_;
  std::vector<Prediction> predictions_;
};

}  // namespace

std::unique_ptr<Prefetcher> make_next_router(const ModelShape& shape, double overfetch) {
  return std::make_unique<NextRouter>(shape, overfetch);
}

}  // namespace runahead
