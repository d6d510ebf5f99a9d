// exec/batch.h: what one run on the device is about: which columns, what the router said of them.

#pragma once

#include <ggml.h>

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "exec/kv_cache.h"
#include "exec/recurrent_state.h"

namespace runahead {

// One column of a decode batch.
struct Lane {
  int32_t row = 0;  // of the residual state
  KvCache* kv = nullptr;
  RecurrentState* recurrent = nullptr;
  int32_t position = 0;  // of the token being computed
};

// The columns of one run: a group of requests (decode), or a chunk of one request's prompt
// (prefill).
struct Batch {
  bool decode = true;
  std::vector<Lane> lanes;  // decode: one per column; prefill: one, at the first column's position
  int32_t n = 0;            // columns
  // Prefill: [n_kv, n], 0 or -inf: for layers that look at all positions, and for those with a
  // window (empty where none has one).
  std::vector<ggml_fp16_t> mask;
  std::vector<ggml_fp16_t> window_mask;

  [[nodiscard]] int32_t position(int32_t column) const {
    return decode ? lanes[static_cast<size_t>(column)].position : lanes.front().position + column;
  }
  [[nodiscard]] int32_t row(int32_t column) const {
    return decode ? lanes[static_cast<size_t>(column)].row : column;
  }
  // KV positions that request `lane` looks at: whole buckets, of its own length only.
  [[nodiscard]] int32_t n_kv(size_t lane) const {
    return kv_bucket(lanes[lane].position + (decode ? 1 : n));
  }
};

// What routers said, column by column.
struct RoutingResult {
  std::vector<int32_t> experts;  // [n * n_expert_used]
  std::vector<float> weights;    // [n * n_expert_used]
  // Softmax over all experts, when it was asked for: of the layer's own router, and of the routers
  // of the next n_lookahead jobs (fewer near the end) reading the same.
  std::vector<float> probabilities;           // [n * n_expert]
  std::vector<std::vector<float>> lookahead;  // [n_lookahead][n * n_expert]
};

// The columns that chose an expert, its place among the experts of each, and its weight there.
struct ExpertColumns {
  int32_t expert = -1;
  SlotId slot{};
  std::vector<int32_t> columns;
  std::vector<int32_t> places;
  std::vector<float> weights;
};

}  // namespace runahead
