#include "exec/device_memory.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "model/builder.h"

namespace runahead {

DeviceMemory::DeviceMemory(Device& device, const Hparams& hparams, const Weights& weights,
                           const Pools& pools, const std::vector<int32_t>& class_of_job,
                           int32_t max_lanes, int32_t max_chunk)
    : hparams_(hparams), weights_(weights), pools_(pools), class_of_job_(class_of_job) {
  ctx_.reset(ggml_init({ggml_tensor_overhead() * 4, nullptr, true}));
  const auto residuals = [&](int64_t columns) {
    return ggml_new_tensor_2d(ctx_.get(), GGML_TYPE_F32, hparams.n_embd, columns);
  };
  lane_residuals_ = residuals(max_lanes);
  chunk_residuals_ = residuals(max_chunk);
  wave_outputs_ = residuals(int64_t{hparams.n_expert_used} * std::max(max_lanes, max_chunk));
  zeros_ = ggml_new_tensor_2d(ctx_.get(), GGML_TYPE_I32, 1, max_lanes);
  buffer_.reset(ggml_backend_alloc_ctx_tensors_from_buft(ctx_.get(), device.buffer_type()));
  if (buffer_ == nullptr) {
    throw Error(ErrorCode::kNoMemory,
                "no memory for the residuals of " + std::to_string(max_lanes) + " requests");
  }
  ggml_backend_buffer_clear(buffer_.get(), 0);
}

const ggml_tensor* DeviceMemory::state(int32_t index) const {
  switch (index) {
    case kLaneResiduals: return lane_residuals_;
    case kChunkResiduals: return chunk_residuals_;
    case kWaveOutputs: return wave_outputs_;
    case kZeros: return zeros_;
    default: return nullptr;
  }
}

const std::vector<ggml_tensor*>& DeviceMemory::pool_of(int32_t job) const {
  return pools_[static_cast<size_t>(class_of(job))]->tensors();
}

void DeviceMemory::cover(int32_t job, std::span<const int32_t> slots) {
  SlotPool& pool = *pools_[static_cast<size_t>(class_of(job))];
  for (const int32_t slot : slots) {
    pool.cover(SlotId{slot});
  }
}

const ggml_tensor* DeviceMemory::find(Binding binding, Layers layers, const Batch& batch) const {
  const int32_t il = first_layer(layers) + binding.offset;
  switch (binding.source) {
    case Source::kModel: return weights_.model()[binding.index];
    case Source::kLayer: return weights_.layer(il)[binding.index];
    case Source::kPool: return pool_of(layers.moe)[static_cast<size_t>(binding.index)];
    case Source::kState: return state(binding.index);
    case Source::kSession: {
      const Lane& lane = batch.lanes[static_cast<size_t>(binding.index / kSessionParts)];
      switch (binding.index % kSessionParts) {
        case kKeys: return lane.kv->keys(il);
        case kValues: return lane.kv->values(il);
        case kMask: return lane.kv->mask();
        case kWindowMask: return lane.kv->window_mask();
        case kConvRead: return lane.recurrent->conv(il, false);
        case kConvWritten: return lane.recurrent->conv(il, true);
        case kHeadsRead: return lane.recurrent->heads(il, false);
        case kHeadsWritten: return lane.recurrent->heads(il, true);
        default: return nullptr;
      }
    }
  }
  return nullptr;
}

}  // namespace runahead
