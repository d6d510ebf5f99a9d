// model/qwen3moe.cpp: Qwen3-MoE (Qwen3-30B-A3B, Qwen3-235B-A22B). GGUF architectures "qwen3moe"
// and, for the text of models that also see, "qwen3vlmoe".

#include "model/decoder.h"
#include "model/hparams_reader.h"
#include "model/tensors.h"

namespace runahead {
namespace {

class Qwen3Moe final : public Decoder {
 public:
  Hparams read_hparams(const GgufFile& file) const override {
    const HparamsReader reader(file);
    Hparams h = reader.common();
    if (h.n_ff_expert == 0) {
      h.n_ff_expert = h.layers.front().n_ff / h.n_expert_used;
    }
    return reader.finish(std::move(h));
  }

 protected:
  TensorSpecs qk_norms(const LayerHparams& l) const override { return head_norms(l); }
};

}  // namespace

std::unique_ptr<Family> make_qwen3moe() {
  return std::make_unique<Qwen3Moe>();
}

}  // namespace runahead
