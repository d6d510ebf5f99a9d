#include "policy/prescope.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "policy/learned_scores.h"

namespace runahead {
namespace {

constexpr int32_t kAhead = 3;           // layers
constexpr float kEvictionCost = 0.25F;  // of a wrong read, in demand reads
constexpr float kMemory = 1 / 32.0F;    // of the averages, per job
constexpr float kGrowth = 1.25F;        // room over what the link has done: it may do more
constexpr float kSpareReads = 1;        // the same, when it has done next to nothing

class PreScope final : public Prefetcher {
 public:
  explicit PreScope(const ModelShape& shape)
      : shape_(shape), scores_(shape, kAhead, std::max(1, shape.n_layer / 8)) {}

  ScoreNeeds needs() const override { return scores_.needs(); }

  void step_started(std::span<const RequestId> requests) override {
    scores_.step_started(requests);
    last_jobs_.clear();
    for (const RequestId request : requests) {
      last_jobs_.push_back({request, -1, {}});
    }
  }

  void fetched(ExpertId /*id*/, bool prefetch) override {
    ++(prefetch ? ended_.prefetch : ended_.demand);
  }

  std::span<const Prediction> routed(const RoutedJob& job) override {
    predictions_.clear();
    scores_.observe(job);
    measure(job);
    const float pressure = std::min(1.0F, demand_per_layer_ / capacity());
    const float against = pressure + kEvictionCost;
    collect(job, against / (1 + against));
    plan(job.layer, budgets(job.n_waiting));
    return predictions_;
  }

 private:
  struct Reads {
    uint64_t demand = 0;
    uint64_t prefetch = 0;
  };
  struct LastJob {
    RequestId request{};
    int32_t layer = -1;
    Reads ended;  // by then
  };

  // Reads that the link can do while one layer is passed.
  [[nodiscard]] float capacity() const { return kGrowth * reads_per_layer_ + kSpareReads; }

  void measure(const RoutedJob& job) {
    const auto last = std::find_if(last_jobs_.begin(), last_jobs_.end(), [&](const LastJob& done) {
      return done.request == job.request;
    });
    CHECK(last != last_jobs_.end());
    if (last->layer >= 0) {
      const auto n_layers = static_cast<float>(job.layer - last->layer);
      const auto demand = static_cast<float>(ended_.demand - last->ended.demand);
      const auto prefetch = static_cast<float>(ended_.prefetch - last->ended.prefetch);
      demand_per_layer_ += kMemory * (demand / n_layers - demand_per_layer_);
      reads_per_layer_ += kMemory * ((demand + prefetch) / n_layers - reads_per_layer_);
    }
    last->layer = job.layer;
    last->ended = ended_;
  }

  // How many experts may be named for the first 1, 2 .. kAhead layers together.
  [[nodiscard]] std::array<int32_t, kAhead> budgets(int32_t n_waiting) const {
    // A layer costs reads_per_layer_ for all requests that pass it, so naming n_expert_used for
    // each of them costs about as much: most of the rest are resident or shared.
    const float named_per_read =
        static_cast<float>(shape_.n_expert_used) / std::max(1.0F, reads_per_layer_);
    std::array<int32_t, kAhead> budgets{};
    float reads = 0;
    // In lockstep, most of this layer's demand is still to come when its first job is routed.
    float backlog = std::max(static_cast<float>(n_waiting), demand_per_layer_);
    for (int32_t& budget : budgets) {
      const float room = capacity() - backlog;
      reads += std::max(0.0F, room);
      backlog = std::max(0.0F, -room) + demand_per_layer_;
      budget = static_cast<int32_t>(std::ceil(reads * named_per_read));
    }
    return budgets;
  }

  void collect(const RoutedJob& job, float least) {
    candidates_.clear();
    for (int32_t ahead = 1; ahead <= kAhead; ++ahead) {
      const std::span<const float> chances = scores_.predict(job, ahead);
      for (size_t expert = 0; expert < chances.size(); ++expert) {
        if (chances[expert] > least) {
          candidates_.push_back(
              {{job.layer + ahead, static_cast<int32_t>(expert)}, chances[expert]});
        }
      }
    }
    std::sort(candidates_.begin(), candidates_.end(), [](const Prediction& a, const Prediction& b) {
      return a.score != b.score ? a.score > b.score : a.id < b.id;
    });
  }

  // Takes the surest candidate that leaves every layer within its budget, again and again.
  void plan(int32_t layer, std::array<int32_t, kAhead> left) {
    for (const Prediction& candidate : candidates_) {
      const auto from = left.begin() + (candidate.id.layer - layer - 1);
      if (std::all_of(from, left.end(), [](int32_t n) { return n > 0; })) {
        std::for_each(from, left.end(), [](int32_t& n) { --n; });
        predictions_.push_back(candidate);
      }
    }
  }

  ModelShape shape_;
  LearnedScores scores_;
  std::vector<LastJob> last_jobs_;
  Reads ended_;
  float demand_per_layer_ = 0;  // averages
  float reads_per_layer_ = 0;   // demand and prefetch
  std::vector<Prediction> candidates_;
  std::vector<Prediction> predictions_;
};

}  // namespace

std::unique_ptr<Prefetcher> make_prescope(const ModelShape& shape) {
  return std::make_unique<PreScope>(shape);
}

}  // namespace runahead
