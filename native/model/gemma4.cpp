// model/gemma4.cpp: Gemma 4 26B-A4B. GGUF architecture "gemma4": most layers look at a window with
// smaller heads, every block is normalised before and after, a dense MLP runs beside the experts,
// the router reads the residual by a norm of its own, and each expert's output has a scale.

#include <cmath>

#include "model/attention.h"
#include "model/decoder.h"
#include "model/hparams_reader.h"
#include "model/tensors.h"

namespace runahead {
namespace {

class Gemma4 final : public Decoder {
 public:
  Hparams read_hparams(const GgufFile& file) const override {
    const HparamsReader reader(file);
    Hparams h = reader.common();
    refuse(reader, "embedding_length_per_layer_input", "embeddings per layer");
    refuse(reader, "attention.shared_kv_layers", "layers that share keys and values");
    h.attention_scale = 1.0F;
    h.embedding_scale = std::sqrt(static_cast<float>(h.n_embd));
    h.logit_softcap = reader.number("final_logit_softcapping", 0.0, 0.0, 1e6);
    const int32_t window = reader.size("attention.sliding_window", 1 << 24);
    const std::vector<int32_t> windows = reader.window_layers(h.n_layer(), 0);
    for (size_t il = 0; il < h.layers.size(); ++il) {
      LayerHparams& l = h.layers[il];
      l.has_experts = file.find(layer_name(il, "ffn_gate_inp.weight")) != nullptr;
      if (windows[il] != 0) {
        l.window = window;
        l.head_dim = reader.positive_or("attention.key_length_swa", l.head_dim, 1024);
        l.head_dim_v = reader.positive_or("attention.value_length_swa", l.head_dim_v, 1024);
        l.rope.n_rot = reader.size_or("rope.dimension_count_swa", l.rope.n_rot, 1024);
        l.rope.base = reader.number("rope.freq_base_swa", 10000.0, 1.0, 1e12);
        l.rope.freq_scale = 1.0F;
      }
    }
    return reader.finish(std::move(h));
  }

  std::vector<TensorSpec> model_tensors(const Hparams& h) const override {
    std::vector<TensorSpec> specs = embedding_tensors(h);
    for (const LayerHparams& l : h.layers) {
      if (l.window == 0) {
        specs.push_back(vector_of("rope_freqs", l.head_dim / 2));
        break;
      }
    }
    return specs;
  }

  std::vector<TensorSpec> layer_tensors(const Hparams& h, int32_t il) const override {
    const LayerHparams& l = h.layer(il);
    TensorSpecs attention = attention_tensors(h, il);
    for (TensorSpec& spec : attention) {
      spec.required = spec.required && spec.name != "attn_v.weight";
    }
    TensorSpecs norms{vector_of("attn_norm", h.n_embd), vector_of("post_attention_norm", h.n_embd),
                      vector_of("ffn_norm", h.n_embd), vector_of("post_ffw_norm", h.n_embd),
                      vector_of("layer_output_scale", 1, false)};
    TensorSpecs moe;
    if (l.has_experts) {
      moe = joined({moe_tensors(h),
                    {{"ffn_gate_inp.scale", {h.n_embd}},
                     {"ffn_down_exps.scale", {h.n_expert}, false},
                     vector_of("pre_ffw_norm_2", h.n_embd),
                     vector_of("post_ffw_norm_1", h.n_embd),
                     vector_of("post_ffw_norm_2", h.n_embd)}});
    }
    return joined({norms, attention, head_norms(l), gated_ffn_tensors(h, l.n_ff), moe});
  }

  ggml_tensor* attention(Builder& b, ggml_tensor* x) const override {
    const LayerHparams& l = b.layer();
    ggml_tensor* factors = l.window == 0 ? b.model("rope_freqs.weight") : nullptr;
    // Some layers have no V: it is K before its norm and rotation.
    const Heads heads = query_key_value(b, b.norm("attn_norm", x), false);
    ggml_tensor* q = rope(b, b.norm("attn_q_norm", heads.q), factors);
    ggml_tensor* k = rope(b, b.norm("attn_k_norm", heads.k), factors);
    ggml_tensor* v = ggml_rms_norm(b.ctx(), heads.v, b.hparams().rms_eps);
    ggml_tensor* y = b.linear("attn_output", attend(b, q, k, v, {attention_scale(b)}));
    return ggml_add(b.ctx(), b.norm("post_attention_norm", y), x);
  }

  ggml_tensor* dense_ffn(Builder& b, ggml_tensor* x) const override {
    return finish(b, mlp(b, x), x);
  }

  ggml_tensor* router_input(Builder& b, ggml_tensor* x) const override {
    x = ggml_rms_norm(b.ctx(), x, b.hparams().rms_eps);
    x = ggml_scale(b.ctx(), x, 1.0F / std::sqrt(static_cast<float>(b.hparams().n_embd)));
    return ggml_mul(b.ctx(), x, b.weight("ffn_gate_inp.scale"));
  }

  Routing route(Builder& b, ggml_tensor* logits) const override {
    Routing routing = top_experts(b, logits);
    if (ggml_tensor* scale = b.find("ffn_down_exps.scale"); scale != nullptr) {
      routing.weights = ggml_mul(b.ctx(), routing.weights, of_experts(b, scale, routing.experts));
    }
    return routing;
  }

  ggml_tensor* expert_input(Builder& b, ggml_tensor* x) const override {
    return b.norm("pre_ffw_norm_2", x);
  }

  ggml_tensor* join_experts(Builder& b, ggml_tensor* sum, ggml_tensor* x) const override {
    ggml_tensor* dense = b.norm("post_ffw_norm_1", mlp(b, x));
    return finish(b, ggml_add(b.ctx(), dense, b.norm("post_ffw_norm_2", sum)), x);
  }

 protected:
  Activation activation() const override { return Activation::kGelu; }

 private:
  static void refuse(const HparamsReader& reader, const char* key, const char* what) {
    if (reader.size_or(key, 0, UINT32_MAX) > 0) {
      reader.fail(ErrorCode::kUnsupported, key,
                  std::string("is not 0: ") + what +
                      " are not supported (Gemma 4 E2B and E4B have "
                      "them; they are no mixtures of experts)");
    }
  }

  ggml_tensor* mlp(Builder& b, ggml_tensor* x) const {
    return gated_ffn(b, b.norm("ffn_norm", x), activation());
  }

  static ggml_tensor* finish(Builder& b, ggml_tensor* y, ggml_tensor* x) {
    y = ggml_add(b.ctx(), b.norm("post_ffw_norm", y), x);
    ggml_tensor* scale = b.find("layer_output_scale.weight");
    return scale == nullptr ? y : ggml_mul(b.ctx(), y, scale);
  }
};

}  // namespace

std::unique_ptr<Family> make_gemma4() {
  return std::make_unique<Gemma4>();
}

}  // namespace runahead
