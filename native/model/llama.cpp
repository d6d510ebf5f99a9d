// model/llama.cpp: Mixtral 8x7B and 8x22B, and others that merge Llama models into experts (GGUF
// architecture "llama" with an expert count), and Granite 3 MoE (1B-A400M, 3B-A800M;
// "granitemoe"). Neighbouring values of a head turn together. Granite scales embedding, residual
// and logits by constants; some have a shared expert.

#include "model/decoder.h"
#include "model/hparams_reader.h"

namespace runahead {
namespace {

class Llama : public Decoder {
 public:
  Hparams read_hparams(const GgufFile& file) const override {
    const HparamsReader reader(file);
    Hparams h = reader.common();
    h.attention_scale = reader.number("attention.scale", 0.0, 0.0, 1e6);
    for (LayerHparams& l : h.layers) {
      l.rope.neox = false;
    }
    if (h.n_ff_expert == 0) {
      h.n_ff_expert = h.layers.front().n_ff;
    }
    return reader.finish(std::move(h));
  }

  std::vector<TensorSpec> model_tensors(const Hparams& h) const override {
    return embedding_and_rope_tensors(h);
  }
};

class GraniteMoe final : public Llama {
 public:
  Hparams read_hparams(const GgufFile& file) const override {
    const HparamsReader reader(file);
    const auto scale = [&](const char* key) {
      const float value = reader.number(key, 0.0, 0.0, 1e6);
      return value == 0.0F ? 1.0F : value;
    };
    Hparams h = Llama::read_hparams(file);
    h.embedding_scale = scale("embedding_scale");
    h.residual_scale = scale("residual_scale");
    h.logit_scale = 1.0F / scale("logit_scale");
    return h;
  }
};

}  // namespace

std::unique_ptr<Family> make_llama() {
  return std::make_unique<Llama>();
}

std::unique_ptr<Family> make_granitemoe() {
  return std::make_unique<GraniteMoe>();
}

}  // namespace runahead
