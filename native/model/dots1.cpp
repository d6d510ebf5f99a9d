// model/dots1.cpp: dots.llm1 (GGUF architecture "dots1"), and Ling 2.0 and Ring 2.0 (Ling-mini,
// Ling-flash; "bailingmoe2"). Norms of Q and K, then routing as in DeepSeek V3. Q, K and V of the
// latter are one matrix, and it chooses experts by groups.

#include "model/decoder.h"
#include "model/hparams_reader.h"
#include "model/tensors.h"

namespace runahead {
namespace {

class Dots1 : public Decoder {
 public:
  Hparams read_hparams(const GgufFile& file) const override {
    const HparamsReader reader(file);
    Hparams h = reader.common();
    if (reader.size_or("expert_gating_func", 0, INT32_MAX) == 0) {
      reader.fail(ErrorCode::kBadFile, "expert_gating_func",
                  "is missing: the file does not say how experts are chosen; convert the model "
                  "anew, or take another file of it");
    }
    reader.read_dense_layers(h);
    reader.read_routing(h, Gating::kSoftmax);
    return reader.finish(std::move(h));
  }

 protected:
  TensorSpecs qk_norms(const LayerHparams& l) const override { return head_norms(l); }
};

// Its shared experts may have a size of their own.
class BailingMoe2 final : public Dots1 {
 public:
  Hparams read_hparams(const GgufFile& file) const override {
    const HparamsReader reader(file);
    Hparams h = Dots1::read_hparams(file);
    const int32_t n_ff = reader.size_or("expert_shared_feed_forward_length", 0, 1 << 24);
    if (n_ff > 0) {
      h.n_ff_shared = reader.size_or("expert_shared_count", 0, 64) * n_ff;
    }
    return h;
  }
};

}  // namespace

std::unique_ptr<Family> make_dots1() {
  return std::make_unique<Dots1>();
}

std::unique_ptr<Family> make_bailingmoe2() {
  return std::make_unique<BailingMoe2>();
}

}  // namespace runahead
