// model/builder.h
//
// Builder is what a family builds its graphs with: the layer's weights by position in the family's
// list, exact or fast products, and the two parts that differ between decode and prefill, attention
// over KV caches and experts over slots. Shapes: x is [n_embd, n], one column per request (decode)
// or token (prefill).

#pragma once

#include <ggml.h>

#include <cstdint>
#include <vector>

#include "model/exactness.h"
#include "model/graph.h"
#include "model/hparams.h"
#include "model/weights.h"

namespace runahead {

// The router's answer, per column: expert ids and the weights of their outputs.
struct Routing {
  ggml_tensor* experts;  // I32 [n_expert_used, n]
  ggml_tensor* weights;  // F32 [n_expert_used, n]
};

// Index of the zeros among Source::kState.
constexpr int32_t kZeros = -1;

// Attention over each request's own KV cache.
struct AttentionInputs {
  bool decode = true;         // one column per request; else all columns are one request's
  std::vector<int32_t> n_kv;  // per request: KV positions looked at
  const ggml_tensor* kv_prototype = nullptr;  // K or V of a layer: [n_embd_kv, n_ctx]
  ggml_tensor* positions = nullptr;           // I32 [n]
  ggml_tensor* kv_rows = nullptr;             // I64 [n], rows of the KV cache to write
  ggml_tensor* mask = nullptr;  // F16 [n_kv, n] of a prefill; in decode each session keeps its own
};

class Builder {
 public:
  Builder(Graph& graph, const Hparams& hparams, Exactness* exactness, int64_t n)
      : graph_(graph), hparams_(hparams), exactness_(exactness), n_(n) {}

  [[nodiscard]] Graph& graph() { return graph_; }
  [[nodiscard]] ggml_context* ctx() { return graph_.ctx(); }
  [[nodiscard]] const Hparams& hparams() const { return hparams_; }
  [[nodiscard]] int64_t n() const { return n_; }

  // Which layers the next parts belong to; prototypes give shapes and types.
  // `ahead`: as in Binding.
  void set_layer(const LayerWeights* layer, int32_t ahead = 0) {
    layer_ = layer;
    ahead_ = ahead;
  }
  void set_moe(const LayerWeights* layer, std::vector<ggml_tensor*> pool) {
    moe_ = layer;
    pool_ = std::move(pool);
  }
  void set_model(const std::vector<ggml_tensor*>* model) { model_ = model; }
  // I32 [1, n or more] of zeros: the ids of one-expert products.
  void set_zeros(const ggml_tensor* zeros) { zeros_ = zeros; }
  void set_attention(AttentionInputs inputs) { attention_ = std::move(inputs); }

  [[nodiscard]] bool has_model(int32_t index) const {
    return (*model_)[static_cast<size_t>(index)] != nullptr;
  }
  [[nodiscard]] ggml_tensor* model(int32_t index);
  [[nodiscard]] ggml_tensor* layer(int32_t index);
  [[nodiscard]] ggml_tensor* moe(int32_t index);
  // F32 [ne0, rows] kept between jobs.
  [[nodiscard]] ggml_tensor* state(int32_t index, const ggml_tensor* prototype);

  // W x; in decode bit-identical per column whatever the batch.
  [[nodiscard]] ggml_tensor* linear(ggml_tensor* weight, ggml_tensor* x);
  [[nodiscard]] ggml_tensor* rms_norm(ggml_tensor* x, ggml_tensor* weight);
  // q: [head_dim, n_head, n], k, v: [head_dim, n_head_kv, n] after rotary embedding; writes k and v
  // to the caches. Returns [n_embd_q, n].
  [[nodiscard]] ggml_tensor* attend(ggml_tensor* q, ggml_tensor* k, ggml_tensor* v, float scale);
  [[nodiscard]] ggml_tensor* rope_neox(ggml_tensor* x);
  // softmax over all experts, top-k, weights normalised to sum 1. logits: [n_expert, n].
  [[nodiscard]] Routing route_softmax(ggml_tensor* logits);
  // x: [n_in, 1 or n_expert_used, n], slots: I32 [n_expert_used, n] -> [n_out, n_expert_used, n].
  [[nodiscard]] ggml_tensor* pool_product(int32_t matrix, ggml_tensor* x, ggml_tensor* slots);
  // Sum over experts in routing order of weight * output. y: [n_embd, n_expert_used, n], weights:
  // [n_expert_used, n].
  [[nodiscard]] ggml_tensor* weighted_sum(ggml_tensor* y, ggml_tensor* weights);

 private:
  Graph& graph_;
  const Hparams& hparams_;
  Exactness* exactness_;  // nullptr: prefill, where the batch of a request never changes
  int64_t n_;
  const LayerWeights* layer_ = nullptr;
  int32_t ahead_ = 0;
  const LayerWeights* moe_ = nullptr;
  std::vector<ggml_tensor*> pool_;
  const std::vector<ggml_tensor*>* model_ = nullptr;
  AttentionInputs attention_;
  const ggml_tensor* zeros_ = nullptr;
};

}  // namespace runahead
