// model/ernie45moe.cpp: ERNIE 4.5 MoE (21B-A3B, 300B-A47B). GGUF architecture "ernie4_5-moe": the
// first layers are dense, a bias joins the softmax when experts are chosen, a shared expert.

#include "model/decoder.h"
#include "model/hparams_reader.h"

namespace runahead {
namespace {

class Ernie45Moe final : public Decoder {
 public:
  Hparams read_hparams(const GgufFile& file) const override {
    const HparamsReader reader(file);
    Hparams h = reader.common();
    reader.read_dense_layers(h);
    if (reader.size("interleave_moe_layer_step", 1024) != 1) {
      reader.fail(ErrorCode::kUnsupported, "interleave_moe_layer_step", "is not 1");
    }
    h.has_choice_bias = true;
    for (LayerHparams& l : h.layers) {
      l.rope.neox = false;
    }
    return reader.finish(std::move(h));
  }
};

}  // namespace

std::unique_ptr<Family> make_ernie45moe() {
  return std::make_unique<Ernie45Moe>();
}

}  // namespace runahead
