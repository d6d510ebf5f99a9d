// model/llama4.cpp: Llama 4 Scout and Maverick. GGUF architecture "llama4": three of four layers
// turn Q and K and look at chunks of positions, the fourth has no rotary embedding and looks at
// everything, with scores that sharpen with the position; experts in each n-th layer, whose weight
// multiplies what they read, and a shared expert.

#include "model/attention.h"
#include "model/decoder.h"
#include "model/hparams_reader.h"
#include "model/tensors.h"

namespace runahead {
namespace {

// Files do not say these.
constexpr int32_t kChunk = 8192;
constexpr int32_t kUnturnedPeriod = 4;          // each fourth layer has no rotary embedding
constexpr int32_t kExpertsWithoutQkNorm = 128;  // Maverick
constexpr float kTemperatureGrowth = 0.1F;

class Llama4 final : public Decoder {
 public:
  Hparams read_hparams(const GgufFile& file) const override {
    const HparamsReader reader(file);
    Hparams h = reader.common();
    const int32_t chunk = reader.size_or("attention.sliding_window", kChunk, INT32_MAX);
    if (chunk != kChunk) {
      reader.fail(ErrorCode::kUnsupported, "attention.sliding_window",
                  "is " + std::to_string(chunk) + "; only chunks of " + std::to_string(kChunk) +
                      " positions are supported");
    }
    h.attention_scale = reader.number("attention.scale", 0.0, 0.0, 1e6);
    h.gating = Gating::kSigmoidOfChosen;
    h.normalise_weights = false;
    h.weights_on_input = true;
    h.n_ff_shared = h.n_ff_expert;
    h.chunked_windows = true;
    const int32_t step = reader.size("interleave_moe_layer_step", 1024);
    const std::vector<int32_t> windows = reader.window_layers(h.n_layer(), kUnturnedPeriod);
    for (int32_t il = 0; il < h.n_layer(); ++il) {
      LayerHparams& l = h.layers[static_cast<size_t>(il)];
      l.has_experts = (il + 1) % step == 0;
      l.rope.neox = false;
      if (windows[static_cast<size_t>(il)] != 0) {
        l.window = kChunk;
        l.rope.base = reader.number("rope.freq_base_swa", l.rope.base, 1.0, 1e12);
      }
      if ((il + 1) % kUnturnedPeriod == 0) {
        l.rope.n_rot = 0;
      }
    }
    return reader.finish(std::move(h));
  }

  std::vector<TensorSpec> model_tensors(const Hparams& h) const override {
    return embedding_and_rope_tensors(h);
  }

 protected:
  ggml_tensor* mix(Builder& b, ggml_tensor* x) const override {
    Heads heads = query_key_value(b, x);
    if (b.layer().rope.n_rot == 0) {
      heads.q = ggml_mul(b.ctx(), heads.q, temperature(b));
    } else {
      heads.q = turned(b, heads.q);
      heads.k = turned(b, heads.k);
    }
    return b.linear("attn_output", attend(b, heads.q, heads.k, heads.v, {attention_scale(b)}));
  }

 private:
  static ggml_tensor* turned(Builder& b, ggml_tensor* x) {
    const Hparams& h = b.hparams();
    x = rope(b, x, rope_factors(b));
    return h.n_expert == kExpertsWithoutQkNorm ? x : ggml_rms_norm(b.ctx(), x, h.rms_eps);
  }

  // 1 + growth * log(1 + whole chunks up to the position, its own included): F32 [1, 1, n].
  static ggml_tensor* temperature(Builder& b) {
    ggml_context* ctx = b.ctx();
    constexpr float kShare = 1.0F / kChunk;
    ggml_tensor* t = ggml_cast(ctx, b.attention().positions, GGML_TYPE_F32);
    t = ggml_floor(ctx, ggml_scale_bias(ctx, t, kShare, kShare));
    t = ggml_log(ctx, ggml_scale_bias(ctx, t, 1.0F, 1.0F));
    t = ggml_scale_bias(ctx, t, kTemperatureGrowth, 1.0F);
    return ggml_reshape_3d(ctx, t, 1, 1, b.n());
  }
};

}  // namespace

std::unique_ptr<Family> make_llama4() {
  return std::make_unique<Llama4>();
}

}  // namespace runahead
