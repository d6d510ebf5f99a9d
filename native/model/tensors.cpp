#include "model/tensors.h"

namespace runahead {

TensorSpec vector_of(const std::string& name, int64_t n, bool required) {
  return {name + ".weight", {n}, required};
}

TensorSpec bias_of(const std::string& name, int64_t n, bool required) {
  return {name + ".bias", {n}, required};
}

TensorSpec matrix_of(const std::string& name, int64_t n_in, int64_t n_out, bool required) {
  return {name + ".weight", {n_in, n_out}, required, /*matrix=*/true};
}

TensorSpecs embedding_tensors(const Hparams& h) {
  return {{"token_embd.weight", {h.n_embd, h.n_vocab}},
          vector_of("output_norm", h.n_embd),
          matrix_of("output", h.n_embd, h.n_vocab, false)};
}

TensorSpecs embedding_and_rope_tensors(const Hparams& h) {
  int64_t n_rot = 2;
  for (const LayerHparams& l : h.layers) {
    n_rot = l.rope.n_rot > 0 ? l.rope.n_rot : n_rot;
  }
  return joined({embedding_tensors(h), {vector_of("rope_freqs", n_rot / 2, false)}});
}

TensorSpecs attention_tensors(const Hparams& h, int32_t il) {
  const LayerHparams& l = h.layer(il);
  const TensorSpecs output{matrix_of("attn_output", int64_t{l.n_head} * l.head_dim_v, h.n_embd),
                           bias_of("attn_output", h.n_embd, false)};
  if (l.fused_qkv) {
    const int64_t width = int64_t{l.n_embd_q()} + l.n_embd_k() + l.n_embd_v();
    return joined(
        {{matrix_of("attn_qkv", h.n_embd, width), bias_of("attn_qkv", width, false)}, output});
  }
  const TensorSpecs qkv{
      matrix_of("attn_q", h.n_embd, l.n_embd_q()), matrix_of("attn_k", h.n_embd, l.n_embd_k()),
      matrix_of("attn_v", h.n_embd, l.n_embd_v()), bias_of("attn_q", l.n_embd_q(), false),
      bias_of("attn_k", l.n_embd_k(), false),      bias_of("attn_v", l.n_embd_v(), false)};
  return joined({qkv, output});
}

TensorSpecs head_norms(const LayerHparams& l, bool required) {
  return {vector_of("attn_q_norm", l.head_dim, required),
          vector_of("attn_k_norm", l.head_dim, required)};
}

TensorSpecs width_norms(const LayerHparams& l) {
  return {vector_of("attn_q_norm", l.n_embd_q()), vector_of("attn_k_norm", l.n_embd_k())};
}

TensorSpecs gated_ffn_tensors(const Hparams& h, int64_t n_ff, const std::string& suffix) {
  return {matrix_of("ffn_gate" + suffix, h.n_embd, n_ff),
          matrix_of("ffn_up" + suffix, h.n_embd, n_ff),
          matrix_of("ffn_down" + suffix, n_ff, h.n_embd)};
}

TensorSpecs moe_tensors(const Hparams& h) {
  TensorSpecs specs{matrix_of("ffn_gate_inp", h.n_embd, h.n_expert)};
  if (h.n_ff_shared > 0) {
    specs = joined({specs, gated_ffn_tensors(h, h.n_ff_shared, "_shexp")});
  }
  if (h.has_choice_bias) {
    specs.push_back(bias_of("exp_probs_b", h.n_expert, false));
  }
  return specs;
}

TensorSpecs ffn_tensors(const Hparams& h, int32_t il) {
  const LayerHparams& l = h.layer(il);
  return l.has_experts ? moe_tensors(h) : gated_ffn_tensors(h, l.n_ff);
}

TensorSpecs joined(std::initializer_list<TensorSpecs> parts) {
  TensorSpecs all;
  for (const TensorSpecs& part : parts) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace runahead
