// model/glm4moe.cpp: GLM-4.5, 4.6, 4.7 and their Air. GGUF architecture "glm4moe": the first layers
// are dense; experts are chosen by sigmoid and a bias, and a shared one always runs.

#include "model/decoder.h"
#include "model/hparams_reader.h"
#include "model/tensors.h"

namespace runahead {
namespace {

class Glm4Moe final : public Decoder {
 public:
  Hparams read_hparams(const GgufFile& file) const override {
    const HparamsReader reader(file);
    Hparams h = reader.common();
    reader.read_dense_layers(h);
    reader.read_routing(h, Gating::kSigmoid);
    return reader.finish(std::move(h));
  }

 protected:
  TensorSpecs qk_norms(const LayerHparams& l) const override { return head_norms(l, false); }
  const char* ffn_norm() const override { return "post_attention_norm"; }
};

}  // namespace

std::unique_ptr<Family> make_glm4moe() {
  return std::make_unique<Glm4Moe>();
}

}  // namespace runahead
