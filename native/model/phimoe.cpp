// model/phimoe.cpp: Phi-3.5-MoE (16x3.8B; GGUF architecture "phimoe"). Everything resident has a
// bias, norms and head too, and rotary factors differ between short and long contexts. Norms and
// router are llama.cpp's: the published code subtracts the mean first, and chooses by sparse mixer.

#include "model/decoder.h"
#include "model/hparams_reader.h"
#include "model/tensors.h"

namespace runahead {
namespace {

class PhiMoe final : public Decoder {
 public:
  Hparams read_hparams(const GgufFile& file) const override {
    const HparamsReader reader(file);
    Hparams h = reader.common();
    h.n_ff_expert = h.layers.front().n_ff;
    const float scale = reader.number("expert_weights_scale", 0.0, 0.0, 1e6);
    h.weights_scale = scale == 0.0F ? 1.0F : scale;
    return reader.finish(std::move(h));
  }

  std::vector<TensorSpec> model_tensors(const Hparams& h) const override {
    const int32_t n_factor = h.layers.front().rope.n_rot / 2;
    return joined({embedding_tensors(h),
                   {bias_of("output_norm", h.n_embd), bias_of("output", h.n_vocab),
                    vector_of("rope_factors_long", n_factor, false),
                    vector_of("rope_factors_short", n_factor, false)}});
  }

  std::vector<TensorSpec> layer_tensors(const Hparams& h, int32_t il) const override {
    return joined({Decoder::layer_tensors(h, il),
                   {bias_of("attn_norm", h.n_embd), bias_of("ffn_norm", h.n_embd)}});
  }
};

}  // namespace

std::unique_ptr<Family> make_phimoe() {
  return std::make_unique<PhiMoe>();
}

}  // namespace runahead
