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

  std::vector<TensorSpec> layer_tensors(const Hparams& h, int32_t il) const override {
    const LayerHparams& l = h.layer(il);
    return joined({{vector_of("attn_norm", h.n_embd)},
                   attention_tensors(h, il),
                   {vector_of("attn_q_norm", l.head_dim), vector_of("attn_k_norm", l.head_dim)},
                   {vector_of("ffn_norm", h.n_embd)},
                   moe_tensors(h)});
  }
};

}  // namespace

std::unique_ptr<Family> make_qwen3moe() {
  return std::make_unique<Qwen3Moe>();
}

}  // namespace runahead
