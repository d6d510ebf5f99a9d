// model/routing.h: which experts a router's logits mean, and the sum of what they gave.

#pragma once

#include <ggml.h>

#include "model/builder.h"

namespace runahead {

// The router's answer, per column: expert ids and the weights of their outputs.
struct Routing {
  ggml_tensor* experts;  // I32 [n_expert_used, n]
  ggml_tensor* weights;  // F32 [n_expert_used, n]
};

// By the model's hyper-parameters: gating, groups, normalisation, scale; a bias exp_probs_b of the
// layer decides who is chosen but not the weights. logits: [n_expert, n].
[[nodiscard]] Routing top_experts(Builder& b, ggml_tensor* logits);

// The chosen experts' entries of a resident F32 [n_expert]: [n_expert_used, n].
[[nodiscard]] ggml_tensor* of_experts(Builder& b, ggml_tensor* values, ggml_tensor* experts);

// x [n_embd, n] for each of its experts, multiplied by its weight: [n_embd, n_expert_used, n].
[[nodiscard]] ggml_tensor* weighted_inputs(Builder& b, ggml_tensor* x, ggml_tensor* weights);

// Sum over experts in routing order of weight * output, or of outputs where inputs were weighted.
// y: [n_embd, n_expert_used, n], weights: [n_expert_used, n].
[[nodiscard]] ggml_tensor* weighted_sum(Builder& b, ggml_tensor* y, ggml_tensor* weights);

}  // namespace runahead
