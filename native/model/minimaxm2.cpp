// model/minimaxm2.cpp: MiniMax-M2. GGUF architecture "minimax-m2": norms of Q and K over their full
// width, a part of each head turns, experts are chosen by sigmoid and a bias.

#include "model/decoder.h"
#include "model/hparams_reader.h"
#include "model/tensors.h"

namespace runahead {
namespace {

class MiniMaxM2 final : public Decoder {
 public:
  Hparams read_hparams(const GgufFile& file) const override {
    const HparamsReader reader(file);
    Hparams h = reader.common();
    reader.read_routing(h, Gating::kSigmoid);
    h.normalise_weights = true;
    h.weights_scale = 1.0F;
    return reader.finish(std::move(h));
  }

 protected:
  TensorSpecs qk_norms(const LayerHparams& l) const override { return width_norms(l); }
};

}  // namespace

std::unique_ptr<Family> make_minimaxm2() {
  return std::make_unique<MiniMaxM2>();
}

}  // namespace runahead
