#include "policy/promoe.h"

#include <algorithm>
#include <vector>

#include "policy/learned_scores.h"
#include "policy/top_experts.h"

namespace runahead {
namespace {

constexpr int32_t kStride = 2;  // layers

class ProMoe final : public Prefetcher {
 public:
  explicit ProMoe(const ModelShape& shape)
      : shape_(shape), scores_(shape, kStride, 0), top_(shape.n_expert) {}

  ScoreNeeds needs() const override { return scores_.needs(); }

  void step_started(std::span<const RequestId> requests) override {
    scores_.step_started(requests);
    begun_.clear();
  }

  std::span<const Prediction> routed(const RoutedJob& job) override {
    predictions_.clear();
    scores_.observe(job);
    const bool first = std::find(begun_.begin(), begun_.end(), job.request) == begun_.end();
    if (first) {
      begun_.push_back(job.request);
    }
    for (int32_t ahead = first ? 1 : kStride; ahead <= kStride; ++ahead) {
      const std::span<const float> chances = scores_.predict(job, ahead);
      if (chances.empty()) {
        break;
      }
      for (const int32_t expert : top_.of(chances, shape_.n_expert_used)) {
        predictions_.push_back({{job.layer + ahead, expert}, chances[static_cast<size_t>(expert)]});
      }
    }
    return predictions_;
  }

 private:
  ModelShape shape_;
  LearnedScores scores_;
  TopExperts top_;
  std::vector<RequestId> begun_;  // whose token has had its first job
  std::vector<Prediction> predictions_;
};

}  // namespace

std::unique_ptr<Prefetcher> make_promoe(const ModelShape& shape) {
  return std::make_unique<ProMoe>(shape);
}

}  // namespace runahead
