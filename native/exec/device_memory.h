// exec/device_memory.h
//
// DeviceMemory is everything a graph may point at: weights, expert pools, KV caches, and the state
// kept between jobs. It answers which tensor a placeholder stands for in a given run. Engine thread
// only.

#pragma once

#include <ggml-cpp.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cache/slot_pool.h"
#include "exec/batch.h"
#include "model/device.h"
#include "model/graph.h"
#include "model/hparams.h"
#include "model/weights.h"

namespace runahead {

// Index among Source::kState; the builder's own kZeros is the fourth.
enum StateTensor : int32_t {
  kLaneResiduals = 0,   // F32 [n_embd, max_lanes]
  kChunkResiduals = 1,  // F32 [n_embd, max_chunk]
  kWaveOutputs = 2,     // F32 [n_embd, n_expert_used * columns]
};

// Which layers with experts a run is about, counted by job; -1: none.
struct Layers {
  int32_t moe = -1;   // whose experts run
  int32_t next = -1;  // whose router runs
};

class DeviceMemory {
 public:
  using Pools = std::vector<std::unique_ptr<SlotPool>>;  // one per slot class

  // All outlive this. max_lanes: requests; max_chunk: columns of a prefill.
  DeviceMemory(Device& device, const Hparams& hparams, const Weights& weights, const Pools& pools,
               const std::vector<int32_t>& class_of_job, int32_t max_lanes, int32_t max_chunk);

  [[nodiscard]] const ggml_tensor* find(Binding binding, Layers layers, const Batch& batch) const;
  [[nodiscard]] const ggml_tensor* state(int32_t index) const;
  [[nodiscard]] static StateTensor residuals_of(const Batch& batch) {
    return batch.decode ? kLaneResiduals : kChunkResiduals;
  }
  [[nodiscard]] const std::vector<ggml_tensor*>& pool_of(int32_t job) const;
  [[nodiscard]] int32_t class_of(int32_t job) const {
    return class_of_job_[static_cast<size_t>(job)];
  }
  // The pool's tensors reach these slots from now on.
  void cover(int32_t job, std::span<const int32_t> slots);
  // The first layer of the model that a run touches: offsets of Binding count from it.
  [[nodiscard]] int32_t first_layer(Layers layers) const {
    return layers.moe < 0 ? 0 : hparams_.expert_layers[static_cast<size_t>(layers.moe)];
  }
  [[nodiscard]] const Weights& weights() const { return weights_; }

 private:
  const Hparams& hparams_;
  const Weights& weights_;
  const Pools& pools_;
  std::vector<int32_t> class_of_job_;
  ggml_context_ptr ctx_;
  ggml_backend_buffer_ptr buffer_;
  ggml_tensor* lane_residuals_;
  ggml_tensor* chunk_residuals_;
  ggml_tensor* wave_outputs_;
  ggml_tensor* zeros_;  // I32 [1, max_lanes]
};

}  // namespace runahead
