// exec/forward.h
//
// Forward runs the parts of the model on the device: a start (embedding, experts over slots, or the combination of
// computed waves), attention and router of the next layer, waves of experts, the LM head. Residuals of requests stay in
// the device's memory between parts, one row per lane; only expert ids, their weights and logits come to the host.
//
// Decode graphs are cached by shape (part, layer kinds, KV buckets of the group), prefill graphs are built anew. Engine
// thread only.

#pragma once

#include <ggml-cpp.h>

#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "base/ids.h"
#include "cache/slot_pool.h"
#include "exec/kv_cache.h"
#include "model/builder.h"
#include "model/device.h"
#include "model/exactness.h"
#include "model/family.h"
#include "model/weights.h"

namespace runahead {

// One column of a decode batch.
struct Lane {
  int32_t row = 0;       // of the residual state
  KvCache* kv = nullptr;
  int32_t position = 0;  // of the token being computed
};

// The columns of one run: a group of requests (decode), or a chunk of one request's prompt (prefill).
struct Batch {
  bool decode = true;
  std::vector<Lane> lanes;  // decode: one per column; prefill: one, whose position is that of the first column
  int32_t n = 0;            // columns
};

// What routers said, column by column.
struct RoutingResult {
  std::vector<int32_t> experts;  // [n * n_expert_used]
  std::vector<float> weights;    // [n * n_expert_used]
};

// Where a run starts.
enum class Start : uint8_t { kEmbed, kExperts, kCombine };

// (column, place among its experts) pairs of one expert.
struct ExpertColumns {
  SlotId slot;
  std::vector<int32_t> columns;
  std::vector<int32_t> places;
};

class Forward {
 public:
  // `pools`: one per slot class; outlives this. max_lanes: requests; max_chunk: columns of a prefill.
  Forward(Device& device, const Family& family, const Hparams& hparams, const Weights& weights,
          const std::vector<std::unique_ptr<SlotPool>>& pools, const std::vector<int32_t>& class_of_layer,
          int32_t max_lanes, int32_t max_chunk);
  ~Forward();

  // kEmbed: tokens [n] enter layer 0. Attention and router of layer 0.
  void front(const Batch& batch, std::span<const int32_t> tokens, RoutingResult& routing);
  // kExperts: experts of `layer` at `slots` (parallel to `weights`), then attention and router of layer + 1 into `routing`
  // (nullptr: the last layer; only the experts). kCombine: the same with experts computed by waves before.
  void job(Start start, int32_t layer, const Batch& batch, std::span<const int32_t> slots, std::span<const float> weights,
           RoutingResult* routing);
  // The experts of one wave of `layer`, for the columns that chose them.
  void wave(int32_t layer, const Batch& batch, std::span<const ExpertColumns> experts);
  // Logits of the given residual rows; out: [rows * n_vocab]. Prefill batches have rows of their own (columns).
  void head(bool decode, std::span<const int32_t> rows, std::span<float> out);
  // Logits of every column of a prefill chunk in one product.
  void head_of_chunk(int32_t n, std::span<float> out);

  // Nanoseconds spent inside the device since the last call.
  [[nodiscard]] int64_t take_device_ns();

 private:
  struct Key;
  struct Job;

  Job& job_graph(Start start, int32_t layer, bool route, const Batch& batch);
  std::unique_ptr<Job> build(Start start, int32_t moe_layer, int32_t next_layer, const Batch& batch);
  void run(Job& job, int32_t moe_layer, int32_t next_layer, const Batch& batch, std::span<const int32_t> tokens,
           std::span<const int32_t> slots, std::span<const float> weights, RoutingResult* routing);
  const ggml_tensor* find(Binding binding, int32_t moe_layer, int32_t next_layer, const Batch& batch) const;
  void compute(ggml_cgraph* graph);
  // The pool's tensors reach these slots.
  void cover(int32_t layer, std::span<const int32_t> slots);
  ggml_tensor* experts_over_slots(Builder& b, ggml_tensor* x, ggml_tensor* slots, ggml_tensor* weights,
                                  const std::vector<ggml_tensor*>& pool);
  void head(ggml_tensor* state, bool exact, std::span<const int32_t> rows, std::span<float> out);
  [[nodiscard]] int32_t state_index(bool decode) const { return decode ? 0 : 1; }
  [[nodiscard]] const std::vector<ggml_tensor*>& pool_of(int32_t layer) const;

  Device& device_;
  const Family& family_;
  const Hparams& hparams_;
  const Weights& weights_;
  const std::vector<std::unique_ptr<SlotPool>>& pools_;
  std::vector<int32_t> class_of_layer_;
  Exactness exactness_;

  ggml_context_ptr ctx_;
  ggml_backend_buffer_ptr buffer_;
  ggml_tensor* lanes_state_ = nullptr;  // F32 [n_embd, max_lanes]: residuals of decode
  ggml_tensor* chunk_state_ = nullptr;  // F32 [n_embd, max_chunk]: residuals of a prefill chunk
  ggml_tensor* outputs_ = nullptr;      // F32 [n_embd, n_expert_used * columns]: outputs of waves
  ggml_tensor* zeros_ = nullptr;        // I32 [1, max_lanes]

  std::list<std::unique_ptr<Job>> jobs_;  // decode graphs, most recently used first
  std::unique_ptr<Job> chunk_job_;        // the last prefill graph
  ggml_gallocr_ptr chunk_memory_;         // of prefill, wave and head graphs, one at a time
  int64_t device_ns_ = 0;
};

}  // namespace runahead
