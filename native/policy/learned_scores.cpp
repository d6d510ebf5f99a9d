#include "policy/learned_scores.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace runahead {
namespace {

constexpr float kRate = 0.15F;       // Adagrad's step, in logits
constexpr float kScaleRate = 0.05F;  // of scale, which moves every expert
constexpr float kDamping = 0.1F;     // added to the sums of squared gradients
constexpr float kSmallest = 0.01F;   // gradients below it are not worth a step
constexpr float kMaxMargin = 12;     // logits
constexpr int32_t kMinLearned = 32;  // truths before the learned order is used
constexpr float kMarkMemory = 1 / 128.0F;

float sigmoid(float logit) {
  return 1 / (1 + std::exp(-logit));
}

float step(float gradient, float& seen) {
  seen += gradient * gradient;
  return gradient / std::sqrt(kDamping + seen);
}

}  // namespace

LearnedScores::LearnedScores(const ModelShape& shape, int32_t n_ahead, int32_t n_shallow)
    : shape_(shape),
      n_ahead_(n_ahead),
      n_shallow_(n_shallow),
      models_(static_cast<size_t>(shape.n_layer * n_ahead)),
      top_(shape.n_expert),
      chances_(static_cast<size_t>(shape.n_expert)),
      gradients_(static_cast<size_t>(shape.n_expert)) {
  CHECK(n_ahead >= 1 && shape.n_expert_used >= 1 && shape.n_expert_used <= shape.n_expert);
}

void LearnedScores::step_started(std::span<const RequestId> requests) {
  requests_.assign(requests.begin(), requests.end());
  const auto n_open = requests.size() * static_cast<size_t>(n_ahead_ * n_ahead_);
  if (open_.size() < n_open) {
    open_.resize(n_open);
  }
  for (Open& open : open_) {
    open.layer = -1;
  }
}

LearnedScores::Model& LearnedScores::model(int32_t layer, int32_t ahead) {
  auto& made = models_[static_cast<size_t>(layer * n_ahead_ + ahead - 1)];
  if (made == nullptr) {
    const auto n = static_cast<size_t>(shape_.n_expert);
    made = std::make_unique<Model>();
    made->bias.assign(n, 0.0F);
    made->bias_seen.assign(n, 0.0F);
    if (layer >= n_shallow_ && layer < shape_.n_layer - n_shallow_) {
      made->cross.assign(n * n, 0.0F);
      made->cross_seen.assign(n * n, 0.0F);
    }
  }
  return *made;
}

std::span<LearnedScores::Open> LearnedScores::open(RequestId request, int32_t layer) {
  const auto found = std::find(requests_.begin(), requests_.end(), request);
  CHECK(found != requests_.end());
  const auto ahead = static_cast<size_t>(n_ahead_);
  const auto index =
      static_cast<size_t>(found - requests_.begin()) * ahead + static_cast<size_t>(layer) % ahead;
  return std::span(open_).subspan(index * ahead, ahead);
}

void LearnedScores::set_margins(std::span<const float> probabilities, std::span<float> margins) {
  constexpr float kNone = 1e-12F;
  for (size_t i = 0; i < margins.size(); ++i) {
    margins[i] = std::log(std::max(kNone, probabilities[i]));
  }
  const int32_t n_used = shape_.n_expert_used;
  const std::span<const int32_t> best = top_.of(margins, n_used + 1);
  const float last = margins[static_cast<size_t>(best[static_cast<size_t>(n_used) - 1])];
  const float next = n_used < shape_.n_expert ? margins[static_cast<size_t>(best.back())] : last;
  for (float& margin : margins) {
    margin = std::clamp(margin - (last + next) / 2, -kMaxMargin, kMaxMargin);
  }
}

std::span<const float> LearnedScores::predict(const RoutedJob& job, int32_t ahead) {
  CHECK(ahead >= 1 && ahead <= n_ahead_);
  const auto n = static_cast<size_t>(shape_.n_expert);
  if (job.lookahead.size() < static_cast<size_t>(ahead) * n) {
    return {};
  }
  Model& from = model(job.layer, ahead);
  Open& to = open(job.request, job.layer + ahead)[static_cast<size_t>(ahead) - 1];
  to.model = &from;
  to.layer = job.layer + ahead;
  to.margins.resize(n);
  to.chances.resize(n);
  set_margins(job.lookahead.subspan(static_cast<size_t>(ahead - 1) * n, n), to.margins);

  for (size_t e = 0; e < n; ++e) {
    to.chances[e] = from.scale * to.margins[e] + from.bias[e];
  }
  to.sources.assign(job.experts.begin(), job.experts.end());
  to.weights.assign(job.experts.size(), 0.0F);
  if (!from.cross.empty()) {
    float mass = 1e-12F;
    for (const int32_t source : job.experts) {
      mass += job.probabilities[static_cast<size_t>(source)];
    }
    for (size_t j = 0; j < to.sources.size(); ++j) {
      const auto source = static_cast<size_t>(to.sources[j]);
      to.weights[j] = job.probabilities[source] / mass;
      const float* cross = &from.cross[source * n];
      for (size_t e = 0; e < n; ++e) {
        to.chances[e] += to.weights[j] * cross[e];
      }
    }
  }
  for (float& chance : to.chances) {
    chance = sigmoid(chance);
  }
  to.least = to.chances[static_cast<size_t>(top_.of(to.chances, shape_.n_expert_used).back())];

  if (from.n_learned >= kMinLearned && from.learned_marks >= from.plain_marks) {
    return to.chances;
  }
  for (size_t e = 0; e < n; ++e) {
    chances_[e] = sigmoid(from.scale * to.margins[e]);
  }
  return chances_;
}

void LearnedScores::learn(const RoutedJob& job) {
  for (Open& open : open(job.request, job.layer)) {
    if (open.layer == job.layer) {
      learn(open, job.experts);
    }
    open.layer = -1;
  }
}

void LearnedScores::learn(Open& open, std::span<const int32_t> experts) {
  Model& from = *open.model;
  std::copy(open.chances.begin(), open.chances.end(), gradients_.begin());
  int32_t learned_hits = 0;
  int32_t plain_hits = 0;
  for (const int32_t expert : experts) {
    const auto e = static_cast<size_t>(expert);
    gradients_[e] -= 1;
    learned_hits += open.chances[e] >= open.least ? 1 : 0;
    plain_hits += open.margins[e] >= 0 ? 1 : 0;
  }
  ++from.n_learned;
  from.learned_marks += kMarkMemory * (static_cast<float>(learned_hits) - from.learned_marks);
  from.plain_marks += kMarkMemory * (static_cast<float>(plain_hits) - from.plain_marks);

  const size_t n = gradients_.size();
  float along_margin = 0;
  for (size_t e = 0; e < n; ++e) {
    const float gradient = gradients_[e];
    along_margin += gradient * open.margins[e];
    if (std::abs(gradient) < kSmallest) {
      continue;
    }
    from.bias[e] -= kRate * step(gradient, from.bias_seen[e]);
    for (size_t j = 0; j < open.sources.size() && !from.cross.empty(); ++j) {
      const size_t at = static_cast<size_t>(open.sources[j]) * n + e;
      from.cross[at] -= kRate * step(gradient * open.weights[j], from.cross_seen[at]);
    }
  }
  along_margin /= static_cast<float>(shape_.n_expert_used);
  from.scale =
      std::clamp(from.scale - kScaleRate * step(along_margin, from.scale_seen), 0.1F, 10.0F);
}

}  // namespace runahead
