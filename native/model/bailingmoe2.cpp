// model/bailingmoe2.cpp: Ling 2.0 and Ring 2.0 (Ling-mini, Ling-flash). GGUF architecture
// "bailingmoe2": Q, K and V in one matrix, then norms and routing as in dots.llm1, by groups.

#include "model/decoder.h"
#include "model/hparams_reader.h"
#include "model/tensors.h"

namespace runahead {
namespace {

class BailingMoe2 final : public Decoder {
 public:
  Hparams read_hparams(const GgufFile& file) const override {
    const HparamsReader reader(file);
    Hparams h = reader.common();
    reader.read_dense_layers(h);
    reader.read_routing(h, Gating::kSigmoid);
    return reader.finish(std::move(h));
  }

 protected:
  TensorSpecs qk_norms(const LayerHparams& l) const override { return head_norms(l); }
};

}  // namespace

std::unique_ptr<Family> make_bailingmoe2() {
  return std::make_unique<BailingMoe2>();
}

}  // namespace runahead
