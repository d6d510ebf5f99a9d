// model/olmoe.cpp: OLMoE-1B-7B. GGUF architecture "olmoe": Q and K are normalised over their full
// width, the experts' weights are as the softmax says.

#include "model/decoder.h"
#include "model/hparams_reader.h"
#include "model/tensors.h"

namespace runahead {
namespace {

class Olmoe final : public Decoder {
 public:
  Hparams read_hparams(const GgufFile& file) const override {
    const HparamsReader reader(file);
    Hparams h = reader.common();
    h.normalise_weights = false;
    if (h.n_ff_expert == 0) {
      h.n_ff_expert = h.layers.front().n_ff;
    }
    return reader.finish(std::move(h));
  }

 protected:
  TensorSpecs qk_norms(const LayerHparams& l) const override { return width_norms(l); }
};

}  // namespace

std::unique_ptr<Family> make_olmoe() {
  return std::make_unique<Olmoe>();
}

}  // namespace runahead
