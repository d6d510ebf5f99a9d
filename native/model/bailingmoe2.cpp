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

  std::vector<TensorSpec> layer_tensors(const Hparams& h, int32_t il) const override {
    const LayerHparams& l = h.layer(il);
    return joined({{vector_of("attn_norm", h.n_embd), vector_of("ffn_norm", h.n_embd)},
                   attention_tensors(h, il),
                   {vector_of("attn_q_norm", l.head_dim), vector_of("attn_k_norm", l.head_dim)},
                   ffn_tensors(h, il)});
  }
};

}  // namespace

std::unique_ptr<Family> make_bailingmoe2() {
  return std::make_unique<BailingMoe2>();
}

}  // namespace runahead
