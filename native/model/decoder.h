// model/decoder.h
//
// Decoder is the layer that most families are: x + attention(norm(x)), then x + experts(norm(x)),
// with what the file has of biases, norms of Q and K, and a shared expert. A family overrides what
// its paper does otherwise.

#pragma once

#include "model/family.h"
#include "model/tensors.h"

namespace runahead {

class Decoder : public Family {
 public:
  [[nodiscard]] std::vector<TensorSpec> model_tensors(const Hparams& h) const override;
  [[nodiscard]] std::vector<TensorSpec> layer_tensors(const Hparams& h, int32_t il) const override;

  [[nodiscard]] ggml_tensor* embed(Builder& b, ggml_tensor* tokens) const override;
  [[nodiscard]] ggml_tensor* attention(Builder& b, ggml_tensor* x) const override;
  [[nodiscard]] ggml_tensor* dense_ffn(Builder& b, ggml_tensor* x) const override;
  [[nodiscard]] ggml_tensor* router_input(Builder& b, ggml_tensor* x) const override;
  [[nodiscard]] ggml_tensor* router_logits(Builder& b, ggml_tensor* input) const override;
  [[nodiscard]] Routing route(Builder& b, ggml_tensor* logits) const override;
  [[nodiscard]] ggml_tensor* expert_input(Builder& b, ggml_tensor* x) const override;
  [[nodiscard]] ggml_tensor* expert_ffn(Builder& b, ggml_tensor* x,
                                        const ExpertOps& ops) const override;
  [[nodiscard]] ggml_tensor* join_experts(Builder& b, ggml_tensor* sum,
                                          ggml_tensor* x) const override;
  [[nodiscard]] ggml_tensor* head(Builder& b, ggml_tensor* x) const override;

 protected:
  // The norm before router and experts.
  [[nodiscard]] virtual const char* ffn_norm() const { return "ffn_norm"; }
  [[nodiscard]] virtual const char* output_norm() const { return "output_norm"; }
  [[nodiscard]] virtual Activation activation() const { return Activation::kSilu; }
  // Of the layer's attention: head_norms() or width_norms().
  [[nodiscard]] virtual TensorSpecs qk_norms(const LayerHparams& /*l*/) const { return {}; }
  // x normalised -> what attention adds to the residual. Other layers than attention over keys and
  // values go here.
  [[nodiscard]] virtual ggml_tensor* mix(Builder& b, ggml_tensor* x) const;
};

}  // namespace runahead
