// model/gptoss.cpp: gpt-oss-20b and -120b. GGUF architecture "gpt-oss": every other layer looks at
// a window, attention has sinks, everything has biases (experts too), the experts' weights are a
// softmax over the chosen, and their activation is a clamped swish.

#include "model/decoder.h"
#include "model/hparams_reader.h"
#include "model/tensors.h"

namespace runahead {
namespace {

class GptOss final : public Decoder {
 public:
  Hparams read_hparams(const GgufFile& file) const override {
    const HparamsReader reader(file);
    Hparams h = reader.common();
    h.gating = Gating::kSoftmaxOfChosen;
    h.normalise_weights = false;
    const int32_t window = reader.size("attention.sliding_window", 1 << 24);
    const std::vector<int32_t> windows = reader.window_layers(h.n_layer(), 2);
    for (size_t il = 0; il < h.layers.size(); ++il) {
      LayerHparams& l = h.layers[il];
      if (windows[il] != 0) {
        l.window = window;
        l.rope.base = reader.number("rope.freq_base_swa", l.rope.base, 1.0, 1e12);
      }
    }
    return reader.finish(std::move(h));
  }

  std::vector<TensorSpec> layer_tensors(const Hparams& h, int32_t il) const override {
    const auto expert_bias = [&](const char* name, int64_t n) {
      return TensorSpec{std::string(name) + ".bias", {n, h.n_expert}, true, false, /*f32=*/true};
    };
    return joined(
        {Decoder::layer_tensors(h, il),
         {vector_of("attn_sinks", h.layer(il).n_head), bias_of("ffn_gate_inp", h.n_expert),
          expert_bias("ffn_gate_exps", h.n_ff_expert), expert_bias("ffn_up_exps", h.n_ff_expert),
          expert_bias("ffn_down_exps", h.n_embd)}});
  }

 protected:
  const char* ffn_norm() const override { return "post_attention_norm"; }
  Activation activation() const override { return Activation::kSwigluOai; }
};

}  // namespace

std::unique_ptr<Family> make_gptoss() {
  return std::make_unique<GptOss>();
}

}  // namespace runahead
