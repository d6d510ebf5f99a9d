// model/delta_net.h: the gated delta net (Qwen3-Next, Qwen3.5): a short convolution over q, k, v,
// then linear attention whose state decays by a gate and is corrected by the delta rule.

#pragma once

#include <ggml.h>

#include "model/builder.h"

namespace runahead {

struct DeltaNetInputs {
  ggml_tensor* qkv;   // [n_channel, n]: q, k, v one after the other
  ggml_tensor* z;     // [n_embd_v, n], gate of the output
  ggml_tensor* beta;  // [n_v_head, n] in (0, 1), how much a position corrects
  ggml_tensor* gate;  // [n_v_head, n], logarithm of the decay
};

// By the weights ssm_conv1d, ssm_norm, ssm_out; each request's state moves on. -> [n_embd, n]
[[nodiscard]] ggml_tensor* delta_net(Builder& b, const DeltaNetInputs& in);

// The gate of alpha [n_v_head, n], by ssm_dt and ssm_a.
[[nodiscard]] ggml_tensor* delta_net_gate(Builder& b, ggml_tensor* alpha);

}  // namespace runahead
