// exec/forward.h
//
// Forward runs the parts of the model on the device: fronts, jobs, waves of experts, the LM head.
// Decode graphs are cached by shape, the others are built anew. Engine thread only.

#pragma once

#include <ggml-cpp.h>

#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "exec/batch.h"
#include "exec/device_memory.h"
#include "exec/job_graph.h"
#include "exec/wave_graph.h"
#include "model/device.h"
#include "model/exactness.h"
#include "model/family.h"

namespace runahead {

class Forward {
 public:
  // All outlive this. max_lanes: the most columns of a decode batch.
  Forward(Device& device, const Family& family, const Hparams& hparams, DeviceMemory& memory,
          int32_t max_lanes);

  // What decode runs read from the routers beside their choice; nothing at first.
  void set_scores(const ScoreNeeds& scores) { scores_ = scores; }

  // Tokens [n] enter: embedding, then the layers up to the first router.
  void front(const Batch& batch, std::span<const int32_t> tokens, RoutingResult& routing);
  // kExperts: the chosen experts of job `layer`, then the layers up to the next router into
  // `routing` (nullptr: the last job, up to the end). kCombine: the same with outputs that waves
  // computed before; prefill has only that.
  void job(Start start, int32_t layer, const Batch& batch, const ChosenExperts& chosen,
           RoutingResult* routing);
  // The experts of one wave of `layer`, for the columns that chose them.
  void wave(int32_t layer, const Batch& batch, std::span<const ExpertColumns> experts);
  // Logits of some columns' residuals into out [columns * n_vocab]; the same bits for each whatever
  // the others.
  void head(const Batch& batch, std::span<const int32_t> columns, std::span<float> out);
  // Logits of every column of a prefill in one product, which may differ in bits from head().
  void head_of_chunk(const Batch& batch, std::span<float> out);

  // Nanoseconds spent computing on the device since the last call.
  [[nodiscard]] int64_t take_device_ns() { return std::exchange(device_ns_, 0); }

 private:
  JobGraph& job_graph(Start start, Layers layers, const Batch& batch);
  void head(const Batch& batch, std::span<const int32_t> columns, Exactness* exactness,
            std::span<float> out);
  void compute(Graph& graph);

  Device& device_;
  const Family& family_;
  const Hparams& hparams_;
  DeviceMemory& memory_;
  Exactness exactness_;
  ScoreNeeds scores_;
  std::list<std::pair<JobKey, std::unique_ptr<JobGraph>>> jobs_;  // decode, last used first
  size_t cached_bytes_ = 0;
  std::unique_ptr<JobGraph> chunk_job_;  // the last prefill graph
  ggml_gallocr_ptr shared_;              // intermediates of uncached graphs, one at a time
  int64_t device_ns_ = 0;
};

}  // namespace runahead
