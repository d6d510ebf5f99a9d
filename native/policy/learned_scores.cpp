#include "policy/learned_scores.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace runahead {
namespace {

constexpr float kBiasRate = 0.15F;   // Adagrad's steps, in logits
constexpr float kScaleRate = 0.05F;  // of scale and offset, which move every expert
constexpr float kCrossRate = 2;      // shared by some hundred features of length 1 together
constexpr float kDamping = 0.1F;     // added to the sums of squared gradients
constexpr float kMaxMargin = 12;     // logits
constexpr int32_t kMinLearned = 32;  // truths before the learned order is used
constexpr float kMarkMemory = 1 / 128.0F;
constexpr size_t kBlock = 16;  // constant, so that compilers make vector code of it

float sigmoid(float logit) {
  return 1 / (1 + std::exp(-logit));
}

float step(float gradient, float& seen) {
  seen += gradient * gradient;
  return gradient / std::sqrt(kDamping + seen);
}

// logits += features^T cross, over whole blocks. Four rows at a time: fewer passes over logits.
void add_products(float* logits, const float* features, const float* cross, size_t stride) {
  for (size_t f = 0; f < 2 * stride; f += 4) {
    const float* rows = cross + f * stride;
    for (size_t i = 0; i < stride; i += kBlock) {
      float sums[kBlock];
      for (size_t j = 0; j < kBlock; ++j) {
        sums[j] =
            logits[i + j] + features[f] * rows[i + j] + features[f + 1] * rows[stride + i + j] +
            features[f + 2] * rows[2 * stride + i + j] + features[f + 3] * rows[3 * stride + i + j];
      }
      std::copy(sums, sums + kBlock, logits + i);
    }
  }
}

// cross += features steps^T, over whole blocks.
void add_outer(float* cross, const float* features, const float* steps, size_t stride) {
  for (size_t f = 0; f < 2 * stride; ++f) {
    float* row = cross + f * stride;
    const float feature = features[f];
    for (size_t i = 0; i < stride; i += kBlock) {
      float sums[kBlock];
      for (size_t j = 0; j < kBlock; ++j) {
        sums[j] = row[i + j] + feature * steps[i + j];
      }
      std::copy(sums, sums + kBlock, row + i);
    }
  }
}

void set_logs(std::span<const float> probabilities, std::span<float> logs) {
  constexpr float kNone = 1e-12F;
  for (size_t i = 0; i < logs.size(); ++i) {
    logs[i] = std::log(std::max(kNone, probabilities[i]));
  }
}

// Centres and scales to length 1.
void normalise(std::span<float> values) {
  float sum = 0;
  for (const float value : values) {
    sum += value;
  }
  const float mean = sum / static_cast<float>(values.size());
  float length2 = 1e-12F;
  for (float& value : values) {
    value -= mean;
    length2 += value * value;
  }
  const float factor = 1 / std::sqrt(length2);
  for (float& value : values) {
    value *= factor;
  }
}

}  // namespace

LearnedScores::LearnedScores(const ModelShape& shape, int32_t n_ahead, int32_t n_shallow)
    : shape_(shape),
      n_ahead_(n_ahead),
      n_shallow_(n_shallow),
      n_(static_cast<size_t>(shape.n_expert)),
      stride_((n_ + kBlock - 1) / kBlock * kBlock),
      models_(static_cast<size_t>(shape.n_layer * n_ahead)),
      own_feature_(n_),
      top_(shape.n_expert),
      gradients_(n_),
      steps_(stride_) {
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
    made = std::make_unique<Model>();
    made->bias.assign(n_, 0.0F);
    made->bias_seen.assign(n_, 0.0F);
    if (layer >= n_shallow_ && layer < shape_.n_layer - n_shallow_) {
      made->cross.assign(2 * stride_ * stride_, 0.0F);
      made->cross_seen.assign(n_, 0.0F);
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

void LearnedScores::set_margins(std::span<const float> logs, std::span<float> margins) {
  const int32_t n_used = shape_.n_expert_used;
  const std::span<const int32_t> best = top_.of(logs, n_used + 1);
  const float last = logs[static_cast<size_t>(best[static_cast<size_t>(n_used) - 1])];
  const float next = logs[static_cast<size_t>(best.back())];
  for (size_t e = 0; e < n_; ++e) {
    margins[e] = std::clamp(logs[e] - (last + next) / 2, -kMaxMargin, kMaxMargin);
  }
}

void LearnedScores::observe(const RoutedJob& job) {
  for (Open& open : open(job.request, job.layer)) {
    if (open.layer == job.layer) {
      learn(open, job.experts);
    }
    open.layer = -1;
  }
  set_logs(job.probabilities, own_feature_);
  normalise(own_feature_);
}

std::span<const float> LearnedScores::predict(const RoutedJob& job, int32_t ahead) {
  CHECK(ahead >= 1 && ahead <= n_ahead_);
  if (job.lookahead.size() < static_cast<size_t>(ahead) * n_) {
    return {};
  }
  Model& from = model(job.layer, ahead);
  Open& to = open(job.request, job.layer + ahead)[static_cast<size_t>(ahead) - 1];
  to.model = &from;
  to.layer = job.layer + ahead;
  to.margins.resize(n_);
  to.features.resize(2 * stride_);  // padded with 0
  to.plain.resize(n_);
  to.chances.resize(stride_);

  const std::span<float> lookahead = std::span(to.features).first(n_);
  set_logs(job.lookahead.subspan(static_cast<size_t>(ahead - 1) * n_, n_), lookahead);
  set_margins(lookahead, to.margins);
  normalise(lookahead);
  std::copy(own_feature_.begin(), own_feature_.end(),
            to.features.begin() + static_cast<std::ptrdiff_t>(stride_));

  for (size_t e = 0; e < n_; ++e) {
    const float logit = from.scale * to.margins[e] + from.offset;
    to.plain[e] = sigmoid(logit);
    to.chances[e] = logit + from.bias[e];
  }
  if (!from.cross.empty()) {
    add_products(to.chances.data(), to.features.data(), from.cross.data(), stride_);
  }
  const std::span<float> chances = std::span(to.chances).first(n_);
  for (float& chance : chances) {
    chance = sigmoid(chance);
  }
  to.least = chances[static_cast<size_t>(top_.of(chances, shape_.n_expert_used).back())];
  const bool learned = from.n_learned >= kMinLearned && from.learned_marks >= from.plain_marks;
  return learned ? chances : std::span(to.plain);
}

void LearnedScores::learn(Open& open, std::span<const int32_t> experts) {
  Model& from = *open.model;
  std::copy_n(open.chances.begin(), n_, gradients_.begin());
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

  float along_scale = 0;
  float along_offset = 0;
  for (size_t e = 0; e < n_; ++e) {
    const float needed = open.chances[e] - gradients_[e];  // 1 or 0
    const float plain = open.plain[e] - needed;
    along_scale += plain * open.margins[e];
    along_offset += plain;
    from.bias[e] -= kBiasRate * step(gradients_[e], from.bias_seen[e]);
  }
  const float per_used = 1 / static_cast<float>(shape_.n_expert_used);
  from.scale -= kScaleRate * step(along_scale * per_used, from.scale_seen);
  from.scale = std::clamp(from.scale, 0.1F, 10.0F);
  from.offset -= kScaleRate * step(along_offset * per_used, from.offset_seen);
  if (!from.cross.empty()) {
    for (size_t e = 0; e < n_; ++e) {
      steps_[e] = -kCrossRate * step(gradients_[e], from.cross_seen[e]);
    }
    add_outer(from.cross.data(), open.features.data(), steps_.data(), stride_);
  }
}

}  // namespace runahead
