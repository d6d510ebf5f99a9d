// exec/wave_graph.h
//
// WaveGraph computes some experts of a layer for the columns that chose them, and puts each output
// at its place among the column's experts; JobGraph's kCombine start sums them. Built for one run.
// Engine thread only.

#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "exec/batch.h"
#include "exec/device_memory.h"
#include "model/builder.h"
#include "model/exactness.h"
#include "model/family.h"

namespace runahead {

class WaveGraph {
 public:
  // Decode when `exactness` is given. REQUIRES: the pool covers the slots.
  WaveGraph(int32_t layer, const Batch& batch, std::span<const ExpertColumns> experts,
            const Family& family, const Hparams& hparams, Exactness* exactness,
            const DeviceMemory& memory);

  [[nodiscard]] Graph& graph() { return graph_; }
  // Fills the inputs. REQUIRES: allocated.
  void set() const;

 private:
  // The same products as a job over slots, for these pairs only.
  void over_slots(Builder& b, ggml_tensor* input, ggml_tensor* outputs,
                  std::span<const ExpertColumns> experts, int32_t begin, int32_t end);
  // One product per matrix for all columns of the expert, which reads it once.
  void one_expert(Builder& b, ggml_tensor* input, ggml_tensor* outputs, const ExpertColumns& expert,
                  const std::vector<ggml_tensor*>& pool);
  [[nodiscard]] ggml_tensor* ids(std::vector<int32_t> values, int64_t ne0);
  // What experts read of these columns, weighted where the model's experts want it.
  [[nodiscard]] ggml_tensor* columns_of(Builder& b, ggml_tensor* input,
                                        std::vector<int32_t> columns, std::vector<float> weights);
  void place(Builder& b, ggml_tensor* outputs, ggml_tensor* y, std::vector<int64_t> targets);
  [[nodiscard]] int64_t target(const ExpertColumns& expert, size_t i) const;

  const Family& family_;
  const Hparams& hparams_;
  Graph graph_;
  std::vector<std::pair<ggml_tensor*, std::vector<int32_t>>> i32_inputs_;
  std::vector<std::pair<ggml_tensor*, std::vector<int64_t>>> i64_inputs_;
  std::vector<std::pair<ggml_tensor*, std::vector<float>>> f32_inputs_;
};

}  // namespace runahead
