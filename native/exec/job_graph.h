// exec/job_graph.h
//
// JobGraph is the graph of one part of the model for a batch: a start (embedding, experts over
// slots, or the combination of outputs that waves computed), then attention of the following layers
// up to the next one with experts, and its router; layers without experts give their dense FFN on
// the way. Residuals of requests stay in the device's memory; expert ids, their weights and the
// routing cross to the host. One decode graph serves every batch of its key. Engine thread only.

#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "exec/batch.h"
#include "exec/device_memory.h"
#include "model/builder.h"
#include "model/exactness.h"
#include "model/family.h"
#include "policy/prefetcher.h"

namespace runahead {

// Where a run starts.
enum class Start : uint8_t { kEmbed, kExperts, kCombine };

// What a decode graph depends on.
struct JobKey {
  Start start;
  int32_t moe_class;                 // slot class of the experts, -1: none
  std::vector<int32_t> kinds;        // Weights::layer_kind of the layers it touches, in order
  bool routes;                       // ends with a router
  std::vector<int32_t> n_kv;         // KV positions each request looks at
  ScoreNeeds scores;                 // read from the routers, of layers that exist
  std::vector<int32_t> ahead_kinds;  // of these routers' layers, and how far behind they are
  bool operator==(const JobKey&) const = default;
};

// Experts of a batch's columns, all [n_expert_used, n]; kCombine needs the weights only.
struct ChosenExperts {
  std::span<const int32_t> experts;
  std::span<const int32_t> slots;
  std::span<const float> weights;
};

// What a run brings from the host; which are used depends on the start.
struct JobInputs {
  std::span<const int32_t> tokens;  // kEmbed: [n]
  ChosenExperts chosen;             // kExperts, kCombine
};

class JobGraph {
 public:
  // Decode when `exactness` is given. `memory` outlives this.
  JobGraph(Start start, Layers layers, const Batch& batch, const ScoreNeeds& scores,
           const Family& family, const Hparams& hparams, Exactness* exactness,
           const DeviceMemory& memory);

  [[nodiscard]] static JobKey key_of(Start start, Layers layers, const Batch& batch,
                                     const ScoreNeeds& scores, const Hparams& hparams,
                                     const DeviceMemory& memory);
  [[nodiscard]] Graph& graph() { return graph_; }

  // Points the graph at the run's memory and fills its inputs. REQUIRES: allocated; a batch of the
  // key.
  void set(Layers layers, const Batch& batch, const JobInputs& inputs);
  // After computing. REQUIRES: built with a next layer.
  void get(RoutingResult& routing) const;

 private:
  // What the run starts with, up to the residual before the next attention.
  [[nodiscard]] ggml_tensor* start_with(Builder& b, Start start, Layers layers,
                                        Exactness* exactness, ggml_tensor* residuals);
  [[nodiscard]] ggml_tensor* experts(Builder& b, ggml_tensor* residual, Exactness& exactness,
                                     const std::vector<ggml_tensor*>& pool);
  [[nodiscard]] AttentionInputs attention_inputs(const Batch& batch);
  void router(Builder& b, ggml_tensor* x, Layers layers, const ScoreNeeds& scores);
  void bind(Layers layers, const Batch& batch);

  const Family& family_;
  const Hparams& hparams_;
  const DeviceMemory& memory_;
  Graph graph_;
  ggml_tensor* tokens_ = nullptr;     // I32 [n]
  ggml_tensor* rows_ = nullptr;       // I32 [n], residuals read
  ggml_tensor* rows_out_ = nullptr;   // I64 [n], the same written
  ggml_tensor* slots_ = nullptr;      // I32 [n_expert_used, n]
  ggml_tensor* experts_ = nullptr;    // I32 [n_expert_used, n], where experts have biases
  ggml_tensor* weights_ = nullptr;    // F32 [n_expert_used, n]
  ggml_tensor* positions_ = nullptr;  // I32 [n]
  ggml_tensor* kv_rows_ = nullptr;    // I64 [n]
  ggml_tensor* mask_ = nullptr;       // F16 [n_kv, n], prefill
  ggml_tensor* window_mask_ = nullptr;
  Routing routing_{};
  ggml_tensor* probabilities_ = nullptr;  // F32 [n_expert, n]
  std::vector<ggml_tensor*> lookahead_;   // the same, of later routers
};

}  // namespace runahead
