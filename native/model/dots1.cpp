// model/dots1.cpp: dots.llm1 (GGUF architecture "dots1"), and Ling 2.0 and Ring 2.0 (Ling-mini,
// Ling-flash; "bailingmoe2"). Norms of Q and K, then routing as in DeepSeek V3. Q, K and V of the
// latter are one matrix, and it chooses experts by groups.

#include "model/decoder.h"
#include "model/hparams_reader.h"
#include "model/tensors.h"

namespace runahead {
namespace {

class Dots1 final : public Decoder {
 public:
  // `gating` is for files that name none.
  explicit Dots1(Gating gating) : gating_(gating) {}

  Hparams read_hparams(const GgufFile& file) const override {
    const HparamsReader reader(file);
    Hparams h = reader.common();
    reader.read_dense_layers(h);
    reader.read_routing(h, gating_);
    return reader.finish(std::move(h));
  }

 protected:
  TensorSpecs qk_norms(const LayerHparams& l) const override { return head_norms(l); }

 private:
  Gating gating_;
};

}  // namespace

std::unique_ptr<Family> make_dots1() {
  return std::make_unique<Dots1>(Gating::kSoftmax);
}

std::unique_ptr<Family> make_bailingmoe2() {
  return std::make_unique<Dots1>(Gating::kSigmoid);
}

}  // namespace runahead
