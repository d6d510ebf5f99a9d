// model/deepseek2.cpp: DeepSeek V2, V3, R1 and Lite, Kimi K2, GLM-4.7-Flash. GGUF architecture
// "deepseek2": multi-head latent attention, the first layers dense, experts chosen by groups. Newer
// files let attention run over the latent rows themselves; older ones make keys and values of them.

#include <cmath>

#include "model/attention.h"
#include "model/decoder.h"
#include "model/hparams_reader.h"
#include "model/tensors.h"

namespace runahead {
namespace {

class DeepSeek2 final : public Decoder {
 public:
  Hparams read_hparams(const GgufFile& file) const override {
    const HparamsReader reader(file);
    Hparams h = reader.common();
    LatentAttention& m = h.latent;
    const LayerHparams first = h.layers.front();
    m.n_lora_kv = reader.size("attention.kv_lora_rank", 1 << 16);
    if (file.find("blk.0.attn_q_a.weight") != nullptr) {
      m.n_lora_q = reader.size("attention.q_lora_rank", 1 << 16);
    }
    m.absorbed = reader.has("attention.key_length_mla");
    m.head_dim = reader.positive_or("attention.key_length_mla", first.head_dim, 1024);
    m.head_dim_v = reader.positive_or("attention.value_length_mla", first.head_dim_v, 1024);
    if (m.head_dim <= first.rope.n_rot) {
      reader.fail(ErrorCode::kBadFile, "rope.dimension_count",
                  "is not less than the length of a key");
    }
    if (reader.number("attention.temperature_scale", 0.0, -1e6, 1e6) != 0.0F) {
      reader.fail(ErrorCode::kUnsupported, "attention.temperature_scale", "is not supported");
    }
    // YaRN's factor goes into the scale of the scores, not into the rotated values alone.
    const float stretch = std::log(1.0F / first.rope.freq_scale);
    const float log_mul = reader.number("rope.scaling.yarn_log_multiplier", 0.0, -1e6, 1e6) / 0.1F;
    float factor = first.rope.attn_factor;
    if (first.rope.ext_factor != 0.0F && log_mul != 0.0F) {
      factor /= 1.0F + 0.1F * stretch;
    }
    const float mscale = factor * (1.0F + 0.1F * stretch) * (1.0F + 0.1F * log_mul * stretch);
    h.attention_scale = mscale * mscale / std::sqrt(static_cast<float>(m.head_dim));
    for (LayerHparams& l : h.layers) {
      l.rope.neox = false;
      l.rope.attn_factor = factor;
      l.n_head_kv = m.absorbed ? 1 : l.n_head;
      l.head_dim = m.absorbed ? m.n_lora_kv + l.rope.n_rot : m.head_dim;
      l.head_dim_v = 0;  // the latent row is the first part of a key
    }
    reader.read_dense_layers(h);
    reader.read_routing(h, is_glm_flash(reader, h) ? Gating::kSigmoid : Gating::kSoftmax);
    h = reader.finish(std::move(h));
    if (!h.latent.absorbed) {
      for (LayerHparams& l : h.layers) {
        l.head_dim_v = h.latent.head_dim_v;
      }
    }
    return h;
  }

  std::vector<TensorSpec> layer_tensors(const Hparams& h, int32_t il) const override {
    const LayerHparams& l = h.layer(il);
    const LatentAttention& m = h.latent;
    const int64_t n_head = l.n_head;
    const int64_t nope = m.head_dim - l.rope.n_rot;
    TensorSpecs q{matrix_of("attn_q", h.n_embd, n_head * m.head_dim)};
    if (m.n_lora_q > 0) {
      q = {matrix_of("attn_q_a", h.n_embd, m.n_lora_q), vector_of("attn_q_a_norm", m.n_lora_q),
           matrix_of("attn_q_b", m.n_lora_q, n_head * m.head_dim)};
    }
    TensorSpecs kv{matrix_of("attn_kv_b", m.n_lora_kv, n_head * (nope + m.head_dim_v))};
    if (m.absorbed) {
      kv = {{"attn_k_b.weight", {nope, m.n_lora_kv, n_head}},
            {"attn_v_b.weight", {m.n_lora_kv, m.head_dim_v, n_head}}};
    }
    return joined({{vector_of("attn_norm", h.n_embd), vector_of("ffn_norm", h.n_embd)},
                   q,
                   {matrix_of("attn_kv_a_mqa", h.n_embd, m.n_lora_kv + l.rope.n_rot),
                    vector_of("attn_kv_a_norm", m.n_lora_kv)},
                   kv,
                   {matrix_of("attn_output", n_head * m.head_dim_v, h.n_embd)},
                   ffn_tensors(h, il)});
  }

 protected:
  ggml_tensor* mix(Builder& b, ggml_tensor* x) const override {
    const LayerHparams& l = b.layer();
    const LatentAttention& m = b.hparams().latent;
    ggml_context* ctx = b.ctx();
    const int64_t n_rot = l.rope.n_rot;
    const int64_t nope = m.head_dim - n_rot;

    ggml_tensor* q = m.n_lora_q > 0
                         ? b.linear("attn_q_b", b.norm("attn_q_a_norm", b.linear("attn_q_a", x)))
                         : b.linear("attn_q", x);
    q = ggml_reshape_3d(ctx, q, m.head_dim, l.n_head, b.n());
    ggml_tensor* q_nope = b.part(q, 0, nope);
    ggml_tensor* q_rot = rope(b, b.part(q, nope, n_rot));

    ggml_tensor* both = b.linear("attn_kv_a_mqa", x);  // latent row, rotated key
    both = ggml_reshape_3d(ctx, both, both->ne[0], 1, b.n());
    ggml_tensor* k_rot = rope(b, b.part(both, m.n_lora_kv, n_rot));
    ggml_tensor* latent = b.norm("attn_kv_a_norm", b.part(both, 0, m.n_lora_kv));

    const AttendOptions options{b.hparams().attention_scale};
    if (m.absorbed) {
      q = ggml_concat(ctx, per_head(b, b.weight("attn_k_b.weight"), q_nope), q_rot, 0);
      ggml_tensor* k = ggml_concat(ctx, latent, k_rot, 0);
      ggml_tensor* found = attend(b, q, k, nullptr, options, m.n_lora_kv);
      found = ggml_reshape_3d(ctx, found, m.n_lora_kv, l.n_head, b.n());
      found = per_head(b, b.weight("attn_v_b.weight"), found);
      return b.linear("attn_output", ggml_reshape_2d(ctx, found, found->ne[0] * l.n_head, b.n()));
    }
    ggml_tensor* kv = b.linear("attn_kv_b", ggml_reshape_2d(ctx, latent, m.n_lora_kv, b.n()));
    kv = ggml_reshape_3d(ctx, kv, nope + m.head_dim_v, l.n_head, b.n());
    k_rot = ggml_repeat_4d(ctx, k_rot, n_rot, l.n_head, b.n(), 1);
    ggml_tensor* k = ggml_concat(ctx, b.part(kv, 0, nope), k_rot, 0);
    ggml_tensor* v = ggml_cont(ctx, b.part(kv, nope, m.head_dim_v));
    q = ggml_concat(ctx, q_nope, q_rot, 0);
    return b.linear("attn_output", attend(b, q, k, v, options));
  }

 private:
  // GLM-4.7-Flash, whose first files do not say how experts are chosen, is known by its sizes.
  static bool is_glm_flash(const HparamsReader& reader, const Hparams& h) {
    return (h.n_layer() == 47 || h.n_layer() == 48) &&
           reader.size_or("vocab_size", h.n_vocab, UINT32_MAX) == 154880;
  }

  // Each head by a matrix of its own. weight: [n_in, n_out, n_head], x: [n_in, n_head, n] ->
  // [n_out, n_head, n]. In decode column by column, whose bits never depend on the others.
  static ggml_tensor* per_head(Builder& b, ggml_tensor* weight, ggml_tensor* x) {
    ggml_context* ctx = b.ctx();
    const int64_t step = b.attention().decode ? 1 : b.n();
    ggml_tensor* result = nullptr;
    for (int64_t i = 0; i < b.n(); i += step) {
      ggml_tensor* columns = ggml_view_3d(ctx, x, x->ne[0], x->ne[1], step, x->nb[1], x->nb[2],
                                          static_cast<size_t>(i) * x->nb[2]);
      ggml_tensor* y = ggml_mul_mat(ctx, weight, ggml_permute(ctx, columns, 0, 2, 1, 3));
      y = ggml_cont(ctx, ggml_permute(ctx, y, 0, 2, 1, 3));
      result = result == nullptr ? y : ggml_concat(ctx, result, y, 2);
    }
    return result;
  }
};

}  // namespace

std::unique_ptr<Family> make_deepseek2() {
  return std::make_unique<DeepSeek2>();
}

}  // namespace runahead
