#include "policy/expert_map_store.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace runahead {
namespace {

// A block of constant size is what compilers turn into vector code at any optimisation level.
constexpr size_t kBlock = 32;
constexpr float kMaxCode = 255;

int32_t dot(const uint8_t* a, const uint8_t* b, size_t n) {
  int32_t sum = 0;
  for (size_t i = 0; i < n; i += kBlock) {
    int32_t block = 0;
    for (size_t j = 0; j < kBlock; ++j) {
      block += static_cast<int16_t>(a[i + j]) * static_cast<int16_t>(b[i + j]);
    }
    sum += block;
  }
  return sum;
}

}  // namespace

ExpertMapStore::ExpertMapStore(int32_t n_layer, int32_t n_expert, int32_t n_maps)
    : n_layer_(n_layer),
      n_expert_(static_cast<size_t>(n_expert)),
      stride_((n_expert_ + kBlock - 1) / kBlock * kBlock),
      n_maps_(static_cast<size_t>(n_maps)) {
  CHECK(n_layer > 0 && n_expert > 0 && n_maps > 0);
  const size_t n_rows = static_cast<size_t>(n_layer) * n_maps_;
  codes_.resize(n_rows * stride_);
  scales_.resize(n_rows);
  per_norm_.resize(n_rows);
}

void ExpertMapStore::begin(Trajectory& token) const {
  token.layer = -1;
  token.norm2 = 0;
  token.codes.resize(static_cast<size_t>(n_layer_) * stride_);
  token.scales.assign(static_cast<size_t>(n_layer_), 0.0F);
  token.products.assign(n_maps_, 0.0F);
}

void ExpertMapStore::extend(Trajectory& token, int32_t layer,
                            std::span<const float> probabilities) const {
  CHECK(layer > token.layer && layer < n_layer_ && probabilities.size() == n_expert_);
  token.layer = layer;
  const float largest = *std::max_element(probabilities.begin(), probabilities.end());
  if (!(largest > 0) || !std::isfinite(largest)) {
    return;  // a router that says nothing: as if the layer had not been seen
  }
  uint8_t* codes = &token.codes[static_cast<size_t>(layer) * stride_];
  std::fill(codes, codes + stride_, uint8_t{0});
  for (size_t i = 0; i < n_expert_; ++i) {
    if (probabilities[i] > 0) {
      codes[i] = static_cast<uint8_t>(probabilities[i] / largest * kMaxCode + 0.5F);
    }
  }
  const float scale = largest / kMaxCode;
  token.scales[static_cast<size_t>(layer)] = scale;

  token.norm2 += scale * scale * static_cast<float>(dot(codes, codes, stride_));
  const uint8_t* stored = &codes_[row(layer, 0) * stride_];
  const float* scales = &scales_[row(layer, 0)];
  for (size_t map = 0; map < static_cast<size_t>(n_stored_); ++map) {
    token.products[map] +=
        scale * scales[map] * static_cast<float>(dot(stored + map * stride_, codes, stride_));
  }
}

ExpertMapStore::Match ExpertMapStore::match(const Trajectory& token) const {
  Match best;
  if (token.layer < 0 || !(token.norm2 > 0)) {
    return best;
  }
  const float* per_norm = &per_norm_[row(token.layer, 0)];
  for (int32_t map = 0; map < n_stored_; ++map) {
    const auto i = static_cast<size_t>(map);
    const float similarity = token.products[i] * per_norm[i];
    if (similarity > best.similarity) {
      best = {map, similarity};
    }
  }
  best.similarity = std::min(1.0F, best.similarity / std::sqrt(token.norm2));
  return best;
}

void ExpertMapStore::read(int32_t map, int32_t layer, std::span<float> probabilities) const {
  CHECK(map >= 0 && map < n_stored_ && probabilities.size() == n_expert_);
  const size_t at = row(layer, map);
  for (size_t i = 0; i < n_expert_; ++i) {
    probabilities[i] = scales_[at] * static_cast<float>(codes_[at * stride_ + i]);
  }
}

void ExpertMapStore::add(std::span<Trajectory> tokens) {
  for (size_t t = 0; t < tokens.size(); ++t) {
    if (tokens[t].layer != n_layer_ - 1) {
      continue;
    }
    int32_t map = n_stored_;
    if (static_cast<size_t>(n_stored_) < n_maps_) {
      ++n_stored_;
    } else {
      map = std::max(0, match(tokens[t]).map);
    }
    store(tokens[t], map);
    for (Trajectory& later : tokens.subspan(t + 1)) {
      if (later.layer == n_layer_ - 1) {
        later.products[static_cast<size_t>(map)] = product(later, map);
      }
    }
  }
}

void ExpertMapStore::store(const Trajectory& token, int32_t map) {
  float norm2 = 0;
  for (int32_t layer = 0; layer < n_layer_; ++layer) {
    const size_t at = row(layer, map);
    const uint8_t* codes = &token.codes[static_cast<size_t>(layer) * stride_];
    std::copy(codes, codes + stride_, &codes_[at * stride_]);
    const float scale = token.scales[static_cast<size_t>(layer)];
    scales_[at] = scale;
    norm2 += scale * scale * static_cast<float>(dot(codes, codes, stride_));
    per_norm_[at] = norm2 > 0 ? 1 / std::sqrt(norm2) : 0;
  }
}

float ExpertMapStore::product(const Trajectory& token, int32_t map) const {
  float sum = 0;
  for (int32_t layer = 0; layer < n_layer_; ++layer) {
    const size_t at = row(layer, map);
    const uint8_t* codes = &token.codes[static_cast<size_t>(layer) * stride_];
    sum += scales_[at] * token.scales[static_cast<size_t>(layer)] *
           static_cast<float>(dot(codes, &codes_[at * stride_], stride_));
  }
  return sum;
}

}  // namespace runahead
