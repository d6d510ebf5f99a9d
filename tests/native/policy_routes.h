// policy_routes.h
//
// Routed jobs made by hand, for the tests of prefetchers.

#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "policy/prefetcher.h"

namespace runahead {

// [n_expert] probabilities: the given ones; what is left to 1 goes to the others in equal parts.
inline std::vector<float> scores(int32_t n_expert, std::vector<std::pair<int32_t, float>> given) {
  float left = 1;
  for (const auto& [expert, probability] : given) {
    left -= probability;
  }
  const auto n_others = static_cast<float>(n_expert - static_cast<int32_t>(given.size()));
  std::vector<float> all(static_cast<size_t>(n_expert),
                         n_others > 0 ? std::max(0.0F, left) / n_others : 0);
  for (const auto& [expert, probability] : given) {
    all[static_cast<size_t>(expert)] = probability;
  }
  return all;
}

// The n experts with the highest probabilities.
inline std::vector<int32_t> top(std::span<const float> probabilities, int32_t n) {
  std::vector<int32_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return probabilities[static_cast<size_t>(a)] > probabilities[static_cast<size_t>(b)];
  });
  order.resize(static_cast<size_t>(n));
  return order;
}

// One routed job with its memory.
struct Route {
  int32_t request = 0;
  int32_t layer = 0;
  std::vector<float> probabilities = {};
  std::vector<int32_t> experts = {};
  std::vector<float> lookahead = {};
  int32_t n_waiting = 0;

  [[nodiscard]] RoutedJob job() const {
    return {RequestId{request}, layer, experts, probabilities, lookahead, n_waiting};
  }
};

inline std::vector<Prediction> ask(Prefetcher& prefetcher, const Route& route) {
  const std::span<const Prediction> predictions = prefetcher.routed(route.job());
  return {predictions.begin(), predictions.end()};
}

// Those that are to be read.
inline std::vector<int32_t> experts_of(std::span<const Prediction> predictions, int32_t layer) {
  std::vector<int32_t> experts = {};
  for (const Prediction& prediction : predictions) {
    if (prediction.fetch && prediction.id.layer == layer) {
      experts.push_back(prediction.id.expert);
    }
  }
  std::sort(experts.begin(), experts.end());
  return experts;
}

}  // namespace runahead
