// model/ffn.h: gated feed-forward networks: dense ones, shared experts, and the experts themselves.

#pragma once

#include <ggml.h>

#include <functional>
#include <string>

#include "model/builder.h"

namespace runahead {

enum class Activation : uint8_t { kSilu, kGelu, kSwigluOai };

// How one or several experts multiply their matrices; differs between decode (over slots) and
// prefill (one expert at a time).
struct ExpertOps {
  std::function<ggml_tensor*(int32_t matrix, ggml_tensor* x)> product;
  // y [n_out, ...] plus each expert's column of a resident F32 [n_out, n_expert].
  std::function<ggml_tensor*(ggml_tensor* y, ggml_tensor* bias)> add_bias;
};

// act(gate) * up
[[nodiscard]] ggml_tensor* gated(Builder& b, ggml_tensor* gate, ggml_tensor* up,
                                 Activation activation);

// ffn_gate<suffix>, ffn_up<suffix>, ffn_down<suffix>.
[[nodiscard]] ggml_tensor* gated_ffn(Builder& b, ggml_tensor* x, Activation activation,
                                     const std::string& suffix = "");

// The shared expert, weighed by the sigmoid of ffn_gate_inp_shexp where there is one.
[[nodiscard]] ggml_tensor* shared_expert(Builder& b, ggml_tensor* x, Activation activation);

// The experts, whose matrices are gate, up, down or gate_up, down; biases where the layer has them.
[[nodiscard]] ggml_tensor* gated_experts(Builder& b, ggml_tensor* x, const ExpertOps& ops,
                                         Activation activation);

}  // namespace runahead
