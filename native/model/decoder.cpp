#include "model/decoder.h"

#include "model/attention.h"

namespace runahead {

std::vector<TensorSpec> Decoder::model_tensors(const Hparams& h) const {
  return embedding_tensors(h);
}

std::vector<TensorSpec> Decoder::layer_tensors(const Hparams& h, int32_t il) const {
  return joined({{vector_of("attn_norm", h.n_embd), vector_of(ffn_norm(), h.n_embd)},
                 attention_tensors(h, il),
                 qk_norms(h.layer(il)),
                 ffn_tensors(h, il)});
}

ggml_tensor* Decoder::embed(Builder& b, ggml_tensor* tokens) const {
  ggml_tensor* x = ggml_get_rows(b.ctx(), b.model("token_embd.weight"), tokens);
  return b.scaled(x, b.hparams().embedding_scale);
}

ggml_tensor* Decoder::mix(Builder& b, ggml_tensor* x) const {
  return grouped_query_attention(b, x);
}

ggml_tensor* Decoder::attention(Builder& b, ggml_tensor* x) const {
  ggml_tensor* y = mix(b, b.norm("attn_norm", x));
  return ggml_add(b.ctx(), b.scaled(y, b.hparams().residual_scale), x);
}

ggml_tensor* Decoder::dense_ffn(Builder& b, ggml_tensor* x) const {
  ggml_tensor* y = gated_ffn(b, b.norm(ffn_norm(), x), activation());
  return ggml_add(b.ctx(), b.scaled(y, b.hparams().residual_scale), x);
}

ggml_tensor* Decoder::router_input(Builder& b, ggml_tensor* x) const {
  return b.norm(ffn_norm(), x);
}

ggml_tensor* Decoder::router_logits(Builder& b, ggml_tensor* input) const {
  return b.linear("ffn_gate_inp", input);
}

Routing Decoder::route(Builder& b, ggml_tensor* logits) const {
  return top_experts(b, logits);
}

ggml_tensor* Decoder::expert_input(Builder& b, ggml_tensor* x) const {
  return b.norm(ffn_norm(), x);
}

ggml_tensor* Decoder::expert_ffn(Builder& b, ggml_tensor* x, const ExpertOps& ops) const {
  return gated_experts(b, x, ops, activation());
}

ggml_tensor* Decoder::join_experts(Builder& b, ggml_tensor* sum, ggml_tensor* x) const {
  if (b.hparams().n_ff_shared > 0) {
    sum = ggml_add(b.ctx(), sum, shared_expert(b, b.norm(ffn_norm(), x), activation()));
  }
  return ggml_add(b.ctx(), b.scaled(sum, b.hparams().residual_scale), x);
}

ggml_tensor* Decoder::head(Builder& b, ggml_tensor* x) const {
  const Hparams& h = b.hparams();
  ggml_tensor* output = b.find_model("output.weight");
  if (output == nullptr) {
    output = b.model("token_embd.weight");
  }
  const std::string norm = output_norm();
  x = b.biased(b.rms_norm(x, b.model(norm + ".weight")), b.find_model(norm + ".bias"));
  ggml_tensor* logits = b.biased(b.product(output, x), b.find_model("output.bias"));
  logits = b.scaled(logits, h.logit_scale);
  if (h.logit_softcap > 0.0F) {
    logits = ggml_scale(b.ctx(), logits, 1.0F / h.logit_softcap);
    logits = ggml_scale(b.ctx(), ggml_tanh(b.ctx(), logits), h.logit_softcap);
  }
  return logits;
}

}  // namespace runahead
