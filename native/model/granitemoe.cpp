// model/granitemoe.cpp: Granite 3 MoE (1B-A400M, 3B-A800M). GGUF architecture "granitemoe":
// embedding, attention, residual and logits are scaled by constants; some have a shared expert.

#include "model/decoder.h"
#include "model/hparams_reader.h"

namespace runahead {
namespace {

class GraniteMoe final : public Decoder {
 public:
  Hparams read_hparams(const GgufFile& file) const override {
    const HparamsReader reader(file);
    Hparams h = reader.common();
    const auto scale = [&](const char* key) { return reader.number(key, 0.0, 0.0, 1e6); };
    const auto or_one = [](float value) { return value == 0.0F ? 1.0F : value; };
    h.embedding_scale = or_one(scale("embedding_scale"));
    h.residual_scale = or_one(scale("residual_scale"));
    h.attention_scale = scale("attention.scale");
    h.logit_scale = 1.0F / or_one(scale("logit_scale"));
    for (LayerHparams& l : h.layers) {
      l.rope.neox = false;
    }
    if (h.n_ff_expert == 0) {
      h.n_ff_expert = h.layers.front().n_ff;
    }
    return reader.finish(std::move(h));
  }
};

}  // namespace

std::unique_ptr<Family> make_granitemoe() {
  return std::make_unique<GraniteMoe>();
}

}  // namespace runahead
