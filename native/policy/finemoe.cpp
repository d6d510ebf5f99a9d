#include "policy/finemoe.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "policy/expert_map_store.h"
#include "policy/top_experts.h"

namespace runahead {
namespace {

constexpr int32_t kDistance = 3;  // layers

class FineMoe final : public Prefetcher {
 public:
  FineMoe(const ModelShape& shape, int32_t n_maps)
      : shape_(shape),
        store_(shape.n_layer, shape.n_expert, n_maps),
        probabilities_(static_cast<size_t>(shape.n_expert)),
        top_(shape.n_expert) {}

  ScoreNeeds needs() const override { return {.probabilities = true, .n_lookahead = 0}; }

  void step_started(std::span<const RequestId> requests) override {
    store_.add({tokens_.data(), requests_.size()});
    requests_.assign(requests.begin(), requests.end());
    if (tokens_.size() < requests.size()) {
      tokens_.resize(requests.size());
    }
    for (size_t i = 0; i < requests.size(); ++i) {
      store_.begin(tokens_[i]);
    }
  }

  std::span<const Prediction> routed(const RoutedJob& job) override {
    predictions_.clear();
    const auto request = std::find(requests_.begin(), requests_.end(), job.request);
    CHECK(request != requests_.end());
    auto& token = tokens_[static_cast<size_t>(request - requests_.begin())];
    const bool first = token.layer < 0;
    store_.extend(token, job.layer, job.probabilities);
    const int32_t last = std::min(job.layer + kDistance, shape_.n_layer - 1);
    const int32_t next = first ? job.layer + 1 : job.layer + kDistance;
    if (next > last) {
      return predictions_;
    }
    const ExpertMapStore::Match match = store_.match(token);
    for (int32_t layer = next; layer <= last && match.map >= 0; ++layer) {
      predict(layer, match);
    }
    return predictions_;
  }

 private:
  void predict(int32_t layer, const ExpertMapStore::Match& match) {
    store_.read(match.map, layer, probabilities_);
    float mass = 0;
    int32_t n = 0;
    for (const int32_t expert : top_.of(probabilities_, shape_.n_expert)) {
      const float probability = probabilities_[static_cast<size_t>(expert)];
      const bool fetch =
          probability > 0 && (n < shape_.n_expert_used || mass < 1 - match.similarity);
      predictions_.push_back({{layer, expert}, probability, fetch});
      mass += probability;
      ++n;
    }
  }

  ModelShape shape_;
  ExpertMapStore store_;
  std::vector<RequestId> requests_;                 // of the step
  std::vector<ExpertMapStore::Trajectory> tokens_;  // parallel; further ones keep their memory
  std::vector<float> probabilities_;
  TopExperts top_;
  std::vector<Prediction> predictions_;
};

}  // namespace

std::unique_ptr<Prefetcher> make_finemoe(const ModelShape& shape, int32_t n_maps) {
  return std::make_unique<FineMoe>(shape, n_maps);
}

}  // namespace runahead
