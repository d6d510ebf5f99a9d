// model/qwen2moe.cpp: Qwen1.5-MoE-A2.7B, Qwen2-57B-A14B. GGUF architecture "qwen2moe": biases on Q,
// K, V, the experts' weights as the softmax says, and a shared expert behind a sigmoid.

#include "model/decoder.h"
#include "model/hparams_reader.h"
#include "model/tensors.h"

namespace runahead {
namespace {

class Qwen2Moe final : public Decoder {
 public:
  Hparams read_hparams(const GgufFile& file) const override {
    const HparamsReader reader(file);
    Hparams h = reader.common();
    h.normalise_weights = false;
    const int32_t n_ff = h.layers.front().n_ff;
    if (h.n_ff_expert == 0) {
      h.n_ff_expert = n_ff / h.n_expert_used;
    }
    if (h.n_ff_shared == 0) {
      h.n_ff_shared = n_ff;
    }
    return reader.finish(std::move(h));
  }

  std::vector<TensorSpec> layer_tensors(const Hparams& h, int32_t il) const override {
    return joined({Decoder::layer_tensors(h, il), {vector_of("ffn_gate_inp_shexp", h.n_embd)}});
  }
};

}  // namespace

std::unique_ptr<Family> make_qwen2moe() {
  return std::make_unique<Qwen2Moe>();
}

}  // namespace runahead
