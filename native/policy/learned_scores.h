// policy/learned_scores.h
//
// LearnedScores says how likely each expert of a later layer is for a request, and learns that
// online, from the run's own past. One small model per pair of source layer and layers ahead:
//
//   chance[e] = sigmoid(scale * margin[e] + bias[e] + sum_j weight[j] * cross[j][e])
//
//   margin[e]  log of the later router's look-ahead probability of e, relative to the middle
//   between
//              the last expert that it would choose and the first that it would not
//   j, weight  the experts chosen at the source layer, and their shares of the probability
//
// It begins with scale 1 and the rest 0: with the order in which the later router, asked early,
// puts its experts. When the later layer is routed, the truth moves scale, bias and cross by the
// gradient of the logistic loss, with Adagrad's step sizes. Meanwhile both orders are marked by how
// many of the needed experts they had among their first n_expert_used; the learned one is used
// where it has not been the worse one, so that it is never worse than look-ahead for long.
//
// A model takes 8 * n_expert^2 bytes (131 KB for 128 experts) and is made when first used. One
// prediction costs about 10 multiply-adds per expert, learning from it no more.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "policy/prefetcher.h"
#include "policy/top_experts.h"

namespace runahead {

class LearnedScores {
 public:
  // Predicts 1 to n_ahead layers ahead. The first and the last n_shallow layers, as sources, learn
  // scale and bias only.
  LearnedScores(const ModelShape& shape, int32_t n_ahead, int32_t n_shallow);

  // What must be asked of the routers.
  [[nodiscard]] ScoreNeeds needs() const { return {true, n_ahead_}; }

  // Forgets what was predicted for tokens that did not get so far.
  void step_started(std::span<const RequestId> requests);
  // Compares job.experts with what was predicted for this layer, and learns.
  // REQUIRES: job.request is of the step.
  void learn(const RoutedJob& job);
  // [n_expert] chances at layer job.layer + ahead; empty when there is no such layer. Remembered
  // until learn(). Valid until the next call.
  // REQUIRES: 1 <= ahead <= n_ahead, once per job and distance.
  [[nodiscard]] std::span<const float> predict(const RoutedJob& job, int32_t ahead);

 private:
  struct Model {
    float scale = 1;
    float scale_seen = 0;     // sum of squared gradients, here and below
    std::vector<float> bias;  // [n_expert]
    std::vector<float> bias_seen;
    std::vector<float> cross;  // [n_expert of the source, n_expert]; empty: shallow
    std::vector<float> cross_seen;
    int32_t n_learned = 0;
    float learned_marks = 0;  // averages of needed experts among the first n_expert_used
    float plain_marks = 0;
  };
  struct Open {  // a prediction that waits for its truth
    Model* model = nullptr;
    int32_t layer = -1;          // predicted
    float least = 0;             // chance of the last of the first n_expert_used
    std::vector<float> margins;  // [n_expert]
    std::vector<float> chances;  // [n_expert] by the learned order
    std::vector<int32_t> sources;
    std::vector<float> weights;
  };

  [[nodiscard]] Model& model(int32_t layer, int32_t ahead);
  // The predictions for `layer` of a request are slots(request)[(layer % n_ahead) * n_ahead ...].
  [[nodiscard]] std::span<Open> open(RequestId request, int32_t layer);
  void set_margins(std::span<const float> probabilities, std::span<float> margins);
  void learn(Open& open, std::span<const int32_t> experts);

  ModelShape shape_;
  int32_t n_ahead_;
  int32_t n_shallow_;
  std::vector<std::unique_ptr<Model>> models_;  // [n_layer, n_ahead]
  std::vector<RequestId> requests_;
  std::vector<Open> open_;  // [requests, n_ahead, n_ahead]
  TopExperts top_;
  std::vector<float> chances_;
  std::vector<float> gradients_;
};

}  // namespace runahead
