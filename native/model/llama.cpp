// model/llama.cpp: Mixtral 8x7B and 8x22B, and others that merge Llama models into experts. GGUF
// architecture "llama" with an expert count; neighbouring values of a head turn together.

#include "model/decoder.h"
#include "model/hparams_reader.h"

namespace runahead {
namespace {

class Llama final : public Decoder {
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
};

}  // namespace

std::unique_ptr<Family> make_llama() {
  return std::make_unique<Llama>();
}

}  // namespace runahead
