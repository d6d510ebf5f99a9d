// model/hunyuanmoe.cpp: Hunyuan-A13B. GGUF architecture "hunyuan-moe": Q and K are normalised after
// they were turned; a shared expert.

#include "model/attention.h"
#include "model/decoder.h"
#include "model/hparams_reader.h"
#include "model/tensors.h"

namespace runahead {
namespace {

class HunyuanMoe final : public Decoder {
 public:
  Hparams read_hparams(const GgufFile& file) const override {
    const HparamsReader reader(file);
    Hparams h = reader.common();
    h.n_ff_expert = h.layers.front().n_ff;
    if (h.n_ff_shared == 0) {
      h.n_ff_shared = h.layers.front().n_ff;
    }
    return reader.finish(std::move(h));
  }

 protected:
  TensorSpecs qk_norms(const LayerHparams& l) const override { return head_norms(l); }

  ggml_tensor* mix(Builder& b, ggml_tensor* x) const override {
    const Heads heads = query_key_value(b, x, false);
    ggml_tensor* q = b.norm("attn_q_norm", rope(b, heads.q));
    ggml_tensor* k = b.norm("attn_k_norm", rope(b, heads.k));
    return b.linear("attn_output", attend(b, q, k, heads.v, {attention_scale(b)}));
  }
};

}  // namespace

std::unique_ptr<Family> make_hunyuanmoe() {
  return std::make_unique<HunyuanMoe>();
}

}  // namespace runahead
