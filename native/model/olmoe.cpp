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

  std::vector<TensorSpec> layer_tensors(const Hparams& h, int32_t il) const override {
    const LayerHparams& l = h.layer(il);
    return joined({{vector_of("attn_norm", h.n_embd)},
                   attention_tensors(h, il),
                   {vector_of("attn_q_norm", l.n_embd_q()), vector_of("attn_k_norm", l.n_embd_k())},
                   {vector_of("ffn_norm", h.n_embd)},
                   moe_tensors(h)});
  }
};

}  // namespace

std::unique_ptr<Family> make_olmoe() {
  return std::make_unique<Olmoe>();
}

}  // namespace runahead
