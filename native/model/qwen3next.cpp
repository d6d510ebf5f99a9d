// model/qwen3next.cpp: Qwen3-Next-80B-A3B (GGUF architecture "qwen3next") and Qwen3.5, Qwen3.6 MoE
// ("qwen35moe": 35B-A3B, 122B-A10B). Three of four layers are gated delta nets; the others have
// attention whose output a sigmoid gates. A shared expert stands behind a sigmoid, too.

#include "model/attention.h"
#include "model/decoder.h"
#include "model/delta_net.h"
#include "model/hparams_reader.h"
#include "model/tensors.h"

namespace runahead {
namespace {

class Qwen35Moe : public Decoder {
 public:
  Hparams read_hparams(const GgufFile& file) const override {
    const HparamsReader reader(file);
    Hparams h = reader.common();
    const int32_t n_ff = h.layers.front().n_ff;
    if (h.n_ff_expert == 0) {
      h.n_ff_expert = n_ff / h.n_expert_used;
    }
    if (h.n_ff_shared == 0) {
      h.n_ff_shared = n_ff;
    }
    h.attention_scale = reader.number("attention.scale", 0.0, 0.0, 1e6);
    h.delta_net = read_delta_net(reader);
    h.conv_kernel = reader.size("ssm.conv_kernel", 64);
    h.conv_channels = h.delta_net.n_channel();
    const int32_t n_all = h.n_layer();
    const int32_t period = reader.positive_or("full_attention_interval", 4, 1024);
    const bool listed = reader.has("attention.recurrent_layers");
    const std::vector<int32_t> recurrent =
        reader.per_layer("attention.recurrent_layers", n_all, 0, 0, 1);
    for (int32_t il = 0; il < n_all; ++il) {
      const auto i = static_cast<size_t>(il);
      h.layers[i].recurrent = listed ? recurrent[i] != 0 : (il + 1) % period != 0;
    }
    return reader.finish(std::move(h));
  }

  std::vector<TensorSpec> layer_tensors(const Hparams& h, int32_t il) const override {
    const LayerHparams& l = h.layer(il);
    return joined({{vector_of("attn_norm", h.n_embd), vector_of("post_attention_norm", h.n_embd)},
                   l.recurrent ? joined({delta_net_tensors(h), projections(h)})
                               : gated_attention_tensors(h, l),
                   moe_tensors(h),
                   {vector_of("ffn_gate_inp_shexp", h.n_embd)}});
  }

 protected:
  const char* ffn_norm() const override { return "post_attention_norm"; }

  ggml_tensor* mix(Builder& b, ggml_tensor* x) const override {
    return b.layer().recurrent ? delta_net(b, project(b, x)) : gated_attention(b, x);
  }

  // How a delta net makes its inputs of x differs between the two.
  virtual TensorSpecs projections(const Hparams& h) const {
    const DeltaNet& d = h.delta_net;
    return {matrix_of("attn_qkv", h.n_embd, d.n_channel()),
            matrix_of("attn_gate", h.n_embd, d.n_embd_v()),
            matrix_of("ssm_beta", h.n_embd, d.n_v_head),
            matrix_of("ssm_alpha", h.n_embd, d.n_v_head)};
  }

  virtual DeltaNetInputs project(Builder& b, ggml_tensor* x) const {
    return {b.linear("attn_qkv", x), b.linear("attn_gate", x),
            ggml_sigmoid(b.ctx(), b.linear("ssm_beta", x)),
            delta_net_gate(b, b.linear("ssm_alpha", x))};
  }

 private:
  static DeltaNet read_delta_net(const HparamsReader& reader) {
    DeltaNet d;
    d.head_dim = reader.size("ssm.state_size", 1024);
    d.n_v_head = reader.size("ssm.time_step_rank", 1024);
    d.n_k_head = reader.size("ssm.group_count", 1024);
    const int32_t inner = reader.size("ssm.inner_size", 1 << 20);
    if (d.n_v_head % d.n_k_head != 0 || inner != d.n_embd_v()) {
      reader.fail(ErrorCode::kBadFile, "ssm.inner_size",
                  std::to_string(inner) + " does not fit " + std::to_string(d.n_v_head) +
                      " heads of " + std::to_string(d.head_dim) + " in " +
                      std::to_string(d.n_k_head) + " groups");
    }
    return d;
  }

  static TensorSpecs delta_net_tensors(const Hparams& h) {
    const DeltaNet& d = h.delta_net;
    return {{"ssm_conv1d.weight", {h.conv_kernel, h.conv_channels}, true, false, /*f32=*/true},
            bias_of("ssm_dt", d.n_v_head),
            {"ssm_a", {d.n_v_head}},
            vector_of("ssm_norm", d.head_dim),
            matrix_of("ssm_out", d.n_embd_v(), h.n_embd)};
  }

  static TensorSpecs gated_attention_tensors(const Hparams& h, const LayerHparams& l) {
    const int64_t n_q = int64_t{2} * l.n_embd_q();  // with the gates
    TensorSpecs qkv{matrix_of("attn_q", h.n_embd, n_q), matrix_of("attn_k", h.n_embd, l.n_embd_k()),
                    matrix_of("attn_v", h.n_embd, l.n_embd_v())};
    if (l.fused_qkv) {
      qkv = {matrix_of("attn_qkv", h.n_embd, n_q + l.n_embd_k() + l.n_embd_v())};
    }
    return joined({qkv, {matrix_of("attn_output", l.n_embd_q(), h.n_embd)}, head_norms(l)});
  }
};

class Qwen3Next final : public Qwen35Moe {
 public:
  Hparams read_hparams(const GgufFile& file) const override {
    Hparams h = Qwen35Moe::read_hparams(file);
    h.delta_net.interleaved = true;
    return h;
  }

 protected:
  // Older files have q, k, v, z in one matrix; all have beta and alpha in one, by K head.
  TensorSpecs projections(const Hparams& h) const override {
    const DeltaNet& d = h.delta_net;
    return {matrix_of("attn_qkv", h.n_embd, d.n_channel(), false),
            matrix_of("attn_gate", h.n_embd, d.n_embd_v(), false),
            matrix_of("ssm_in", h.n_embd, int64_t{d.n_channel()} + d.n_embd_v(), false),
            matrix_of("ssm_ba", h.n_embd, int64_t{2} * d.n_v_head)};
  }

  DeltaNetInputs project(Builder& b, ggml_tensor* x) const override {
    const DeltaNet& d = b.hparams().delta_net;
    const int64_t per_head = d.n_v_head / d.n_k_head;
    ggml_tensor* ba = by_k_head(b, b.linear("ssm_ba", x));
    ggml_tensor* beta = part(b, ba, 0, per_head);
    ggml_tensor* alpha = part(b, ba, per_head, per_head);
    DeltaNetInputs in{nullptr, nullptr, ggml_sigmoid(b.ctx(), beta), delta_net_gate(b, alpha)};
    if (b.find("ssm_in.weight") == nullptr) {
      in.qkv = b.linear("attn_qkv", x);
      in.z = b.linear("attn_gate", x);
      return in;
    }
    ggml_tensor* all = by_k_head(b, b.linear("ssm_in", x));
    const int64_t dim = d.head_dim;
    in.qkv = ggml_concat(b.ctx(), part(b, all, 0, dim), part(b, all, dim, dim), 0);
    in.qkv = ggml_concat(b.ctx(), in.qkv, part(b, all, 2 * dim, per_head * dim), 0);
    in.z = part(b, all, (2 + per_head) * dim, per_head * dim);
    return in;
  }

 private:
  // [n_k_head * m, n] as [m, n_k_head, n]
  static ggml_tensor* by_k_head(Builder& b, ggml_tensor* x) {
    const int64_t n_k_head = b.hparams().delta_net.n_k_head;
    return ggml_reshape_3d(b.ctx(), x, x->ne[0] / n_k_head, n_k_head, b.n());
  }
  // Of each K head `n` values from `first`: [n_k_head * n, n]
  static ggml_tensor* part(Builder& b, ggml_tensor* x, int64_t first, int64_t n) {
    return ggml_cont_2d(b.ctx(), b.part(x, first, n), n * x->ne[1], x->ne[2]);
  }
};

}  // namespace

std::unique_ptr<Family> make_qwen35moe() {
  return std::make_unique<Qwen35Moe>();
}

std::unique_ptr<Family> make_qwen3next() {
  return std::make_unique<Qwen3Next>();
}

}  // namespace runahead
