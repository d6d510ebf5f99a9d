// model/builder.h
//
// Builder is what a family builds its graphs with: weights by name, exact or fast products, and
// what attention and experts read. Blocks that families share are functions over it: attention.h,
// routing.h, ffn.h. Shapes: x is [n_embd, n], one column per request (decode) or token (prefill).

#pragma once

#include <ggml.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/exactness.h"
#include "model/graph.h"
#include "model/hparams.h"
#include "model/weights.h"

namespace runahead {

// Index of the zeros among Source::kState.
constexpr int32_t kZeros = -1;

// What a session keeps of a layer, and its masks: Source::kSession has index
// kSessionParts * request + part.
enum SessionPart : int32_t {
  kKeys,
  kValues,
  kMask,
  kWindowMask,
  kConvRead,  // recurrent layers: read before the run's columns, written behind them
  kConvWritten,
  kHeadsRead,
  kHeadsWritten,
  kSessionParts
};

// Attention over each request's own KV cache.
struct AttentionInputs {
  bool decode = true;                // one column per request; else all columns are one request's
  std::vector<int32_t> n_kv;         // per request: KV positions looked at
  ggml_tensor* positions = nullptr;  // I32 [n]
  ggml_tensor* kv_rows = nullptr;    // I64 [n], rows of the KV cache to write
  // F16 [n_kv, n] of a prefill; in decode each session keeps its own.
  ggml_tensor* mask = nullptr;
  ggml_tensor* window_mask = nullptr;
};

class Builder {
 public:
  Builder(Graph& graph, const Hparams& hparams, Exactness* exactness, const NamedTensors& model,
          int64_t n)
      : graph_(graph), hparams_(hparams), exactness_(exactness), model_(model), n_(n) {}

  [[nodiscard]] Graph& graph() { return graph_; }
  [[nodiscard]] ggml_context* ctx() { return graph_.ctx(); }
  [[nodiscard]] const Hparams& hparams() const { return hparams_; }
  [[nodiscard]] int64_t n() const { return n_; }

  // Which layer the next parts belong to: `offset` layers behind the first of the run.
  void set_layer(int32_t il, const NamedTensors& weights, int32_t offset) {
    layer_ = &hparams_.layer(il);
    weights_ = &weights;
    offset_ = offset;
  }
  void set_pool(std::vector<ggml_tensor*> pool) { pool_ = std::move(pool); }
  // I32 [1, n or more] of zeros: the ids of one-expert products.
  void set_zeros(const ggml_tensor* zeros) { zeros_ = zeros; }
  void set_attention(AttentionInputs inputs) { attention_ = std::move(inputs); }

  [[nodiscard]] const LayerHparams& layer() const { return *layer_; }
  [[nodiscard]] const AttentionInputs& attention() const { return attention_; }

  // A tensor of the whole model, or of the layer; find_*: nullptr when the file has none.
  [[nodiscard]] ggml_tensor* find_model(std::string_view name);
  [[nodiscard]] ggml_tensor* model(std::string_view name);
  [[nodiscard]] ggml_tensor* find(std::string_view name);
  [[nodiscard]] ggml_tensor* weight(std::string_view name);
  // F32 [ne0, rows] kept between jobs.
  [[nodiscard]] ggml_tensor* state(int32_t index, const ggml_tensor* prototype);
  // What `request` keeps of the layer, seen as [ne0, ne1, ne2] with these strides (bytes).
  [[nodiscard]] ggml_tensor* session(int64_t request, SessionPart part, ggml_type type, int64_t ne0,
                                     int64_t ne1, int64_t ne2, size_t nb1, size_t nb2);

  // W x; in decode bit-identical per column whatever the batch.
  [[nodiscard]] ggml_tensor* product(ggml_tensor* weight, ggml_tensor* x);
  // y + bias; y itself for nullptr.
  [[nodiscard]] ggml_tensor* biased(ggml_tensor* y, ggml_tensor* bias);
  // <name>.weight x + <name>.bias, where there is one.
  [[nodiscard]] ggml_tensor* linear(const std::string& name, ggml_tensor* x);
  [[nodiscard]] ggml_tensor* rms_norm(ggml_tensor* x, ggml_tensor* weight);
  // By <name>.weight, plus <name>.bias where there is one.
  [[nodiscard]] ggml_tensor* norm(const std::string& name, ggml_tensor* x);
  // Of each row of x [m, ...] the `n` values from `first`, as a view: [n, ...].
  [[nodiscard]] ggml_tensor* part(ggml_tensor* x, int64_t first, int64_t n);
  // Of x [m, n] the `n` columns from `first`, as a view.
  [[nodiscard]] ggml_tensor* columns(ggml_tensor* x, int64_t first, int64_t n);
  // x * factor; x itself for 1.
  [[nodiscard]] ggml_tensor* scaled(ggml_tensor* x, float factor);
  // x: [n_in, 1 or n_expert_used, n], slots: I32 [n_expert_used, n] -> [n_out, n_expert_used, n].
  [[nodiscard]] ggml_tensor* pool_product(int32_t matrix, ggml_tensor* x, ggml_tensor* slots);

 private:
  [[nodiscard]] ggml_tensor* one_expert_product(ggml_tensor* weight, ggml_tensor* x);

  Graph& graph_;
  const Hparams& hparams_;
  Exactness* exactness_;  // nullptr: prefill, where the batch of a request never changes
  const NamedTensors& model_;
  int64_t n_;
  const LayerHparams* layer_ = nullptr;
  const NamedTensors* weights_ = nullptr;
  int32_t offset_ = 0;
  std::vector<ggml_tensor*> pool_;
  AttentionInputs attention_;
  const ggml_tensor* zeros_ = nullptr;
};

}  // namespace runahead
