// model/qwen3moe.cpp: Qwen3-MoE (Qwen3-30B-A3B, Qwen3-235B-A22B). GGUF architecture "qwen3moe".

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.h"
#include "model/family.h"

namespace runahead {
namespace {

// Positions in the lists of tensors below.
enum ModelTensor : int32_t { kTokenEmbd, kOutputNorm, kOutput };
enum LayerTensor : int32_t { kAttnNorm, kQ, kK, kV, kQNorm, kKNorm, kAttnOut, kFfnNorm, kRouter };
enum ExpertMatrixIndex : int32_t { kGate, kUp, kDown };

class Qwen3Moe final : public Family {
 public:
  Hparams read_hparams(const GgufFile& file) const override {
    const std::string a = "qwen3moe.";
    Hparams h;
    h.architecture = "qwen3moe";
    const auto size = [&](const char* key, uint64_t max) {
      return static_cast<int32_t>(file.require_uint(a + key, 1, max));
    };
    h.n_layer = size("block_count", 1024);
    h.n_embd = size("embedding_length", 1 << 20);
    h.n_head = size("attention.head_count", 1024);
    h.n_head_kv = static_cast<int32_t>(
        file.get_uint(a + "attention.head_count_kv", 1, static_cast<uint64_t>(h.n_head))
            .value_or(h.n_head));
    h.head_dim = static_cast<int32_t>(file.get_uint(a + "attention.key_length", 1, 1024)
                                          .value_or(static_cast<uint64_t>(h.n_embd / h.n_head)));
    h.n_expert = size("expert_count", 4096);
    h.n_expert_used = size("expert_used_count", static_cast<uint64_t>(h.n_expert));
    h.n_ff_expert = static_cast<int32_t>(
        file.get_uint(a + "expert_feed_forward_length", 1, 1 << 20)
            .value_or(static_cast<uint64_t>(
                file.get_uint(a + "feed_forward_length", 1, 1 << 24).value_or(0) /
                static_cast<uint64_t>(h.n_expert_used))));
    h.context_length =
        static_cast<int32_t>(file.get_uint(a + "context_length", 1, INT32_MAX).value_or(4096));
    const std::string where = file.path().string() + ": ";
    const auto number = [&](const char* key, double missing, double min, double max) {
      const double value = file.get_float(a + key).value_or(missing);
      if (!(value >= min && value <= max)) {
        throw Error(ErrorCode::kBadFile, where + a + key + " is " + std::to_string(value) + "; " +
                                             std::to_string(min) + " to " + std::to_string(max) +
                                             " are possible");
      }
      return static_cast<float>(value);
    };
    h.rms_eps = number("attention.layer_norm_rms_epsilon", 1e-6, 0.0, 1.0);
    h.rope_base = number("rope.freq_base", 10000.0, 1.0, 1e12);
    h.n_vocab =
        static_cast<int32_t>(std::min<int64_t>(file.require("token_embd.weight").ne[1], INT32_MAX));
    if (h.n_ff_expert < 1) {
      throw Error(ErrorCode::kBadFile, where + a + "expert_feed_forward_length is missing");
    }
    if (h.head_dim < 2) {
      throw Error(ErrorCode::kBadFile, where + a + "embedding_length " + std::to_string(h.n_embd) +
                                           " is too small for attention.head_count " +
                                           std::to_string(h.n_head));
    }
    if (h.n_head % h.n_head_kv != 0) {
      throw Error(ErrorCode::kBadFile,
                  where + a + "attention.head_count " + std::to_string(h.n_head) +
                      " is not a multiple of head_count_kv " + std::to_string(h.n_head_kv));
    }
    if (h.head_dim % 2 != 0) {
      throw Error(ErrorCode::kBadFile,
                  where + a + "attention.key_length " + std::to_string(h.head_dim) + " is odd");
    }
    if (const auto value = file.get_uint(a + "attention.value_length", 1, 1024);
        value && static_cast<int32_t>(*value) != h.head_dim) {
      throw Error(ErrorCode::kUnsupported,
                  where + a + "attention.value_length differs from key_length");
    }
    const std::string scaling = file.get_string(a + "rope.scaling.type").value_or("none");
    if (scaling != "none") {
      throw Error(ErrorCode::kUnsupported,
                  where + a + "rope.scaling.type '" + scaling + "' is not supported yet");
    }
    return h;
  }

  std::vector<TensorSpec> model_tensors(const Hparams& h) const override {
    return {{"token_embd.weight", {h.n_embd, h.n_vocab}},
            {"output_norm.weight", {h.n_embd}},
            {"output.weight", {h.n_embd, h.n_vocab}, /*required=*/false, /*matrix=*/true}};
  }

  std::vector<TensorSpec> layer_tensors(const Hparams& h, int32_t) const override {
    return {{"attn_norm.weight", {h.n_embd}},
            {"attn_q.weight", {h.n_embd, h.n_embd_q()}, true, true},
            {"attn_k.weight", {h.n_embd, h.n_embd_kv()}, true, true},
            {"attn_v.weight", {h.n_embd, h.n_embd_kv()}, true, true},
            {"attn_q_norm.weight", {h.head_dim}},
            {"attn_k_norm.weight", {h.head_dim}},
            {"attn_output.weight", {h.n_embd_q(), h.n_embd}, true, true},
            {"ffn_norm.weight", {h.n_embd}},
            {"ffn_gate_inp.weight", {h.n_embd, h.n_expert}, true, true}};
  }

  std::vector<ExpertRole> expert_roles() const override {
    return {{"gate", "ffn_gate_exps"}, {"up", "ffn_up_exps"}, {"down", "ffn_down_exps"}};
  }

  std::vector<std::array<int64_t, 2>> expert_shapes(const Hparams& h) const override {
    return {{h.n_embd, h.n_ff_expert}, {h.n_embd, h.n_ff_expert}, {h.n_ff_expert, h.n_embd}};
  }

  ggml_tensor* embed(Builder& b, ggml_tensor* tokens) const override {
    return ggml_get_rows(b.ctx(), b.model(kTokenEmbd), tokens);
  }

  ggml_tensor* attention(Builder& b, ggml_tensor* x) const override {
    const Hparams& h = b.hparams();
    ggml_tensor* normed = b.rms_norm(x, b.layer(kAttnNorm));
    const auto heads = [&](LayerTensor weight, int32_t n_head) {
      return ggml_reshape_3d(b.ctx(), b.linear(b.layer(weight), normed), h.head_dim, n_head, b.n());
    };
    ggml_tensor* q = b.rope_neox(b.rms_norm(heads(kQ, h.n_head), b.layer(kQNorm)));
    ggml_tensor* k = b.rope_neox(b.rms_norm(heads(kK, h.n_head_kv), b.layer(kKNorm)));
    ggml_tensor* v = heads(kV, h.n_head_kv);
    ggml_tensor* attended = b.attend(q, k, v, 1.0F / std::sqrt(static_cast<float>(h.head_dim)));
    return ggml_add(b.ctx(), b.linear(b.layer(kAttnOut), attended), x);
  }

  ggml_tensor* router_input(Builder& b, ggml_tensor* x) const override {
    return b.rms_norm(x, b.layer(kFfnNorm));
  }

  ggml_tensor* router_logits(Builder& b, ggml_tensor* input) const override {
    return b.linear(b.layer(kRouter), input);
  }

  Routing route(Builder& b, ggml_tensor* logits) const override { return b.route_softmax(logits); }

  ggml_tensor* expert_input(Builder& b, ggml_tensor* x) const override {
    return b.rms_norm(x, b.moe(kFfnNorm));
  }

  ggml_tensor* expert_ffn(Builder& b, ggml_tensor* x, const ExpertProduct& product) const override {
    return product(kDown, ggml_swiglu_split(b.ctx(), product(kGate, x), product(kUp, x)));
  }

  ggml_tensor* head(Builder& b, ggml_tensor* x) const override {
    ggml_tensor* weight = b.has_model(kOutput) ? b.model(kOutput) : b.model(kTokenEmbd);
    return b.linear(weight, b.rms_norm(x, b.model(kOutputNorm)));
  }
};

}  // namespace

std::unique_ptr<Family> make_qwen3moe() {
  return std::make_unique<Qwen3Moe>();
}

}  // namespace runahead
