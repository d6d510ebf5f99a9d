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
    const LayerHparams& l = b.layer();
    const auto turned = [&](const std::string& name, int64_t n_head) {
      ggml_tensor* y = ggml_reshape_3d(b.ctx(), b.linear(name, x), l.head_dim, n_head, b.n());
      return b.norm(name + "_norm", rope(b, y));
    };
    ggml_tensor* q = turned("attn_q", l.n_head);
    ggml_tensor* k = turned("attn_k", l.n_head_kv);
    ggml_tensor* v = heads_of(b, "attn_v", x, l.head_dim_v, l.n_head_kv);
    return b.linear("attn_output", attend(b, q, k, v, {attention_scale(b)}));
  }
};

}  // namespace

std::unique_ptr<Family> make_hunyuanmoe() {
  return std::make_unique<HunyuanMoe>();
}

}  // namespace runahead
