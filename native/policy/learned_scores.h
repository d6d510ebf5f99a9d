// policy/learned_scores.h
//
// LearnedScores says how likely each expert of a later layer is for a request, and learns that
// online, from the run's own past. One small model per pair of source layer and layers ahead:
//
//   plain[e]  = sigmoid(scale * margin[e] + offset)
//   chance[e] = sigmoid(scale * margin[e] + offset + bias[e] + sum_f feature[f] * cross[f][e])
//
//   margin[e]  log of the later router's look-ahead probability of e, relative to the middle
//   between
//              the last expert that it would choose and the first that it would not
//   feature    the logs of all look-ahead probabilities and of this router's own, each centred and
//              scaled to length 1: what two routers see of the current hidden state
//
// It begins with scale 1 and the rest 0: with the order in which the later router, asked early,
// puts its experts. When the later layer is routed, the truth moves scale and offset by the
// gradient of plain's logistic loss, bias and cross by that of chance's, with Adagrad's step sizes.
// Meanwhile both orders are marked by how many of the needed experts they had among their first
// n_expert_used; the learned one is used where it has not been the worse one, so that it is never
// worse than look-ahead for long.
//
// A model takes 8 * n_expert^2 bytes (131 KB for 128 experts) and is made when first used. One
// prediction costs 2 * n_expert^2 multiply-adds, learning from it as many.

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
  // no cross.
  LearnedScores(const ModelShape& shape, int32_t n_ahead, int32_t n_shallow);

  // What must be asked of the routers.
  [[nodiscard]] ScoreNeeds needs() const { return {true, n_ahead_}; }

  // Forgets what was predicted for tokens that did not get so far.
  void step_started(std::span<const RequestId> requests);
  // Learns from job.experts what was predicted for this layer, and takes the job as the source of
  // the predictions that follow.
  // REQUIRES: job.request is of the step.
  void observe(const RoutedJob& job);
  // [n_expert] chances at layer job.layer + ahead; empty when there is no such layer. Remembered
  // until that layer is observed. Valid until the next call.
  // REQUIRES: `job` was observed last; 1 <= ahead <= n_ahead, each at most once per job.
  [[nodiscard]] std::span<const float> predict(const RoutedJob& job, int32_t ahead);

 private:
  struct Model {
    float scale = 1;
    float scale_seen = 0;  // sum of squared gradients, here and below
    float offset = 0;
    float offset_seen = 0;
    std::vector<float> bias;  // [n_expert]
    std::vector<float> bias_seen;
    std::vector<float> cross;  // [2 * stride, stride]; empty: shallow
    std::vector<float> cross_seen;
    int32_t n_learned = 0;
    float learned_marks = 0;  // averages of needed experts among the first n_expert_used
    float plain_marks = 0;
  };
  struct Open {  // a prediction that waits for its truth
    Model* model = nullptr;
    int32_t layer = -1;           // predicted
    float least = 0;              // chance of the last of the first n_expert_used
    std::vector<float> margins;   // [n_expert]
    std::vector<float> features;  // [2, stride] look-ahead, own
    std::vector<float> plain;     // [n_expert] chances by look-ahead only
    std::vector<float> chances;   // [stride] by the learned order
  };

  [[nodiscard]] Model& model(int32_t layer, int32_t ahead);
  // The predictions for `layer`, by the number of layers ahead - 1.
  [[nodiscard]] std::span<Open> open(RequestId request, int32_t layer);
  void set_margins(std::span<const float> logs, std::span<float> margins);
  void learn(Open& open, std::span<const int32_t> experts);

  ModelShape shape_;
  int32_t n_ahead_;
  int32_t n_shallow_;
  size_t n_;                                    // experts
  size_t stride_;                               // the same, rounded up to whole blocks
  std::vector<std::unique_ptr<Model>> models_;  // [n_layer, n_ahead]
  std::vector<RequestId> requests_;
  std::vector<Open> open_;          // [requests, n_ahead (layer modulo), n_ahead]
  std::vector<float> own_feature_;  // [n_expert] of the job observed last
  TopExperts top_;
  std::vector<float> gradients_;
  std::vector<float> steps_;  // [stride]
};

}  // namespace runahead
