#include "model/ffn.h"

namespace runahead {

ggml_tensor* gated(Builder& b, ggml_tensor* gate, ggml_tensor* up, Activation activation) {
  switch (activation) {
    case Activation::kSilu: return ggml_swiglu_split(b.ctx(), gate, up);
    case Activation::kGelu: return ggml_geglu_split(b.ctx(), gate, up);
    case Activation::kSwigluOai: return ggml_swiglu_oai(b.ctx(), gate, up, 1.702F, 7.0F);
  }
  return nullptr;
}

ggml_tensor* gated_ffn(Builder& b, ggml_tensor* x, Activation activation,
                       const std::string& suffix) {
  ggml_tensor* gate = b.linear("ffn_gate" + suffix, x);
  ggml_tensor* up = b.linear("ffn_up" + suffix, x);
  return b.linear("ffn_down" + suffix, gated(b, gate, up, activation));
}

ggml_tensor* shared_expert(Builder& b, ggml_tensor* x, Activation activation) {
  ggml_tensor* y = gated_ffn(b, x, activation, "_shexp");
  ggml_tensor* gate = b.find("ffn_gate_inp_shexp.weight");
  return gate == nullptr ? y : ggml_mul(b.ctx(), y, ggml_sigmoid(b.ctx(), b.product(gate, x)));
}

ggml_tensor* gated_experts(Builder& b, ggml_tensor* x, const ExpertOps& ops,
                           Activation activation) {
  const auto product = [&](int32_t matrix, const char* bias_name, ggml_tensor* in) {
    ggml_tensor* y = ops.product(matrix, in);
    ggml_tensor* bias = b.find(bias_name);
    return bias == nullptr ? y : ops.add_bias(y, bias);
  };
  if (b.hparams().fused_gate_up) {
    ggml_tensor* both = product(0, "ffn_gate_up_exps.bias", x);
    const int64_t n_ff = both->ne[0] / 2;
    ggml_tensor* gate = b.part(both, 0, n_ff);
    ggml_tensor* up = b.part(both, n_ff, n_ff);
    return product(1, "ffn_down_exps.bias", gated(b, gate, up, activation));
  }
  ggml_tensor* gate = product(0, "ffn_gate_exps.bias", x);
  ggml_tensor* up = product(1, "ffn_up_exps.bias", x);
  return product(2, "ffn_down_exps.bias", gated(b, gate, up, activation));
}

}  // namespace runahead
