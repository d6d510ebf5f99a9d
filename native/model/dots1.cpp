// model/dots1.cpp: dots.llm1. GGUF architecture "dots1": norms of Q and K, then routing as in
// DeepSeek V3.

#include "model/decoder.h"
#include "model/hparams_reader.h"
#include "model/tensors.h"

namespace runahead {
namespace {

class Dots1 final : public Decoder {
 public:
  Hparams read_hparams(const GgufFile& file) const override {
    const HparamsReader reader(file);
    Hparams h = reader.common();
    reader.read_dense_layers(h);
    reader.read_routing(h, Gating::kSoftmax);
    return reader.finish(std::move(h));
  }

 protected:
  TensorSpecs qk_norms(const LayerHparams& l) const override { return head_norms(l); }
};

}  // namespace

std::unique_ptr<Family> make_dots1() {
  return std::make_unique<Dots1>();
}

}  // namespace runahead
