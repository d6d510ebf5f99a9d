// exec/job_graph.h
//
// JobGraph is the graph of one part of the model for a batch: a start (embedding, experts over
// slots, or the combination of outputs that waves computed), then attention and router of the next
// layer. Residuals of requests stay in the device's memory; expert ids, their weights and the
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
  int32_t moe_class;          // slot class of the experts, -1: none
  int32_t moe_kind;           // Weights::layer_kind of their layer
  int32_t next_kind;          // of the layer whose attention and router run, -1: none
  std::vector<int32_t> n_kv;  // KV positions each request looks at
  ScoreNeeds scores;          // read from the routers, of layers that exist
  std::vector<int32_t> ahead_kinds;
  bool operator==(const JobKey&) const = default;
};

// What a run brings from the host; which are used depends on the start.
struct JobInputs {
  std::span<const int32_t> tokens;  // kEmbed: [n]
  std::span<const int32_t> slots;   // kExperts: [n_expert_used, n]
  std::span<const float> weights;   // kExperts, kCombine: [n_expert_used, n]
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
  [[nodiscard]] ggml_tensor* experts(Builder& b, ggml_tensor* residual, Exactness& exactness,
                                     const std::vector<ggml_tensor*>& pool);
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
  ggml_tensor* weights_ = nullptr;    // F32 [n_expert_used, n]
  ggml_tensor* positions_ = nullptr;  // I32 [n]
  ggml_tensor* kv_rows_ = nullptr;    // I64 [n]
  ggml_tensor* mask_ = nullptr;       // F16 [n_kv, n], prefill
  Routing routing_{};
  ggml_tensor* probabilities_ = nullptr;  // F32 [n_expert, n]
  std::vector<ggml_tensor*> lookahead_;   // the same, of later routers
};

}  // namespace runahead
