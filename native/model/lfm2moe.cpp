// model/lfm2moe.cpp: LFM2-8B-A1B, LFM2-24B-A2B. GGUF architecture "lfm2moe": most layers are a
// gated short convolution instead of attention, the first ones are dense, experts are chosen by
// sigmoid and a bias.

#include "model/decoder.h"
#include "model/hparams_reader.h"
#include "model/short_convolution.h"
#include "model/tensors.h"

namespace runahead {
namespace {

class Lfm2Moe final : public Decoder {
 public:
  Hparams read_hparams(const GgufFile& file) const override {
    const HparamsReader reader(file);
    Hparams h = reader.common();
    reader.read_dense_layers(h);
    reader.read_routing(h, Gating::kSigmoid);
    h.normalise_weights = true;
    h.weights_scale = 1.0F;
    h.n_ff_shared = 0;
    h.conv_kernel = reader.size("shortconv.l_cache", 64);
    h.conv_channels = h.n_embd;
    for (LayerHparams& l : h.layers) {
      l.recurrent = l.n_head_kv == 0;
    }
    return reader.finish(std::move(h));
  }

  std::vector<TensorSpec> model_tensors(const Hparams& h) const override {
    TensorSpecs specs = embedding_tensors(h);
    specs[1] = vector_of(kOutputNorm, h.n_embd);
    return specs;
  }

  std::vector<TensorSpec> layer_tensors(const Hparams& h, int32_t il) const override {
    if (!h.layer(il).recurrent) {
      return Decoder::layer_tensors(h, il);
    }
    return joined({{vector_of("attn_norm", h.n_embd), vector_of("ffn_norm", h.n_embd)},
                   {{"shortconv.conv.weight", {h.conv_kernel, h.n_embd}, true, false, true},
                    matrix_of("shortconv.in_proj", h.n_embd, int64_t{3} * h.n_embd),
                    matrix_of("shortconv.out_proj", h.n_embd, h.n_embd)},
                   ffn_tensors(h, il)});
  }

 protected:
  TensorSpecs qk_norms(const LayerHparams& l) const override { return head_norms(l); }

  // The file calls the last norm after the embedding.
  static constexpr const char* kOutputNorm = "token_embd_norm";
  const char* output_norm() const override { return kOutputNorm; }

  ggml_tensor* mix(Builder& b, ggml_tensor* x) const override {
    if (!b.layer().recurrent) {
      return Decoder::mix(b, x);
    }
    ggml_context* ctx = b.ctx();
    ggml_tensor* all = b.linear("shortconv.in_proj", x);
    const auto third = [&](int64_t i) { return b.part(all, i * x->ne[0], x->ne[0]); };
    ggml_tensor* gated = ggml_mul(ctx, third(0), third(2));
    const bool decode = b.attention().decode;
    const int64_t step = decode ? 1 : b.n();
    ggml_tensor* found = nullptr;
    for (int64_t i = 0; i < b.n(); i += step) {
      ggml_tensor* y =
          short_convolution(b, i, b.columns(gated, i, step), b.weight("shortconv.conv.weight"));
      found = found == nullptr ? y : ggml_concat(ctx, found, y, 1);
    }
    return b.linear("shortconv.out_proj", ggml_mul(ctx, found, third(1)));
  }
};

}  // namespace

std::unique_ptr<Family> make_lfm2moe() {
  return std::make_unique<Lfm2Moe>();
}

}  // namespace runahead
