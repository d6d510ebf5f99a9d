#include "exec/job_graph.h"

#include <algorithm>

namespace runahead {
namespace {

int32_t n_nodes(const Batch& batch, const Hparams& hparams) {
  const int32_t n_lanes = static_cast<int32_t>(batch.lanes.size());
  return 256 + 32 * n_lanes + 32 * hparams.n_expert_used;
}

template <typename T>
void fill(ggml_tensor* tensor, std::span<const T> values) {
  if (tensor != nullptr) {
    ggml_backend_tensor_set(tensor, values.data(), 0, values.size_bytes());
  }
}

}  // namespace

JobGraph::JobGraph(Start start, Layers layers, const Batch& batch, const Family& family,
                   const Hparams& hparams, Exactness* exactness, const DeviceMemory& memory)
    : family_(family), hparams_(hparams), memory_(memory), graph_(n_nodes(batch, hparams)) {
  const int64_t n = batch.n;
  const int64_t k = hparams.n_expert_used;
  Builder b(graph_, hparams, exactness, n);
  b.set_model(&memory.weights().model());
  b.set_zeros(memory.state(kZeros));
  const StateTensor which = DeviceMemory::residuals_of(batch);
  ggml_tensor* residuals = b.state(which, memory.state(which));

  ggml_tensor* x = nullptr;
  if (start == Start::kEmbed) {
    tokens_ = graph_.input(GGML_TYPE_I32, n);
    x = family.embed(b, tokens_);
  } else {
    rows_ = graph_.input(GGML_TYPE_I32, n);
    weights_ = graph_.input(GGML_TYPE_F32, k, n);
    ggml_tensor* residual = ggml_get_rows(b.ctx(), residuals, rows_);
    const auto& pool = memory.pool_of(layers.moe);
    b.set_moe(&memory.weights().layer(layers.moe), pool);
    ggml_tensor* outputs = nullptr;  // [n_embd, n_expert_used, n]
    if (start == Start::kExperts) {
      slots_ = graph_.input(GGML_TYPE_I32, k, n);
      outputs = experts(b, residual, *exactness, pool);
    } else {
      ggml_tensor* waves = b.state(kWaveOutputs, memory.state(kWaveOutputs));
      outputs = ggml_view_3d(b.ctx(), waves, hparams.n_embd, k, n, waves->nb[1],
                             waves->nb[1] * static_cast<size_t>(k), 0);
    }
    x = ggml_add(b.ctx(), b.weighted_sum(outputs, weights_), residual);
  }
  if (layers.next >= 0) {
    AttentionInputs attention;
    attention.decode = batch.decode;
    attention.kv_prototype = batch.lanes.front().kv->keys(layers.next);
    attention.positions = positions_ = graph_.input(GGML_TYPE_I32, n);
    attention.kv_rows = kv_rows_ = graph_.input(GGML_TYPE_I64, n);
    for (size_t lane = 0; lane < batch.lanes.size(); ++lane) {
      attention.n_kv.push_back(batch.n_kv(lane));
    }
    if (!batch.decode) {
      attention.mask = mask_ = graph_.input(GGML_TYPE_F16, attention.n_kv.front(), n);
    }
    b.set_layer(&memory.weights().layer(layers.next));
    b.set_attention(std::move(attention));
    x = family.attention(b, x);
  }
  rows_out_ = graph_.input(GGML_TYPE_I64, n);
  graph_.expand(ggml_set_rows(b.ctx(), residuals, x, rows_out_));
  if (layers.next >= 0) {
    routing_ = family.route(b, x);
    graph_.output(routing_.experts);
    graph_.output(routing_.weights);
  }
  bind(layers, batch);
}

ggml_tensor* JobGraph::experts(Builder& b, ggml_tensor* residual, Exactness& exactness,
                               const std::vector<ggml_tensor*>& pool) {
  // Columns are sliced where the pool's kernels would otherwise mix them.
  const int64_t width = exactness.exact_columns_of_pools(pool, static_cast<int32_t>(b.n()));
  ggml_tensor* input = family_.expert_input(b, residual);
  input = ggml_reshape_3d(b.ctx(), input, hparams_.n_embd, 1, b.n());
  ggml_tensor* outputs = nullptr;
  for (int64_t begin = 0; begin < b.n(); begin += width) {
    const int64_t n = std::min(width, b.n() - begin);
    const auto at = static_cast<size_t>(begin);
    ggml_tensor* columns = ggml_view_3d(b.ctx(), input, hparams_.n_embd, 1, n, input->nb[1],
                                        input->nb[2], at * input->nb[2]);
    ggml_tensor* ids =
        ggml_view_2d(b.ctx(), slots_, slots_->ne[0], n, slots_->nb[1], at * slots_->nb[1]);
    ggml_tensor* part = family_.expert_ffn(
        b, columns, [&](int32_t matrix, ggml_tensor* x) { return b.pool_product(matrix, x, ids); });
    outputs = outputs == nullptr ? part : ggml_concat(b.ctx(), outputs, part, 2);
  }
  return outputs;
}

JobKey JobGraph::key_of(Start start, Layers layers, const Batch& batch,
                        const DeviceMemory& memory) {
  const auto kind = [&](int32_t layer) {
    return layer < 0 ? -1 : memory.weights().layer_kind(layer);
  };
  JobKey key{start,
             layers.moe < 0 ? -1 : memory.class_of(layers.moe),
             kind(layers.moe),
             kind(layers.next),
             {}};
  for (size_t lane = 0; lane < batch.lanes.size(); ++lane) {
    key.n_kv.push_back(layers.next < 0 ? 0 : batch.n_kv(lane));
  }
  return key;
}

void JobGraph::bind(Layers layers, const Batch& batch) {
  graph_.bind([&](Binding binding) { return memory_.find(binding, layers, batch); });
}

void JobGraph::set(Layers layers, const Batch& batch, const JobInputs& inputs) {
  bind(layers, batch);
  const auto n = static_cast<size_t>(batch.n);
  std::vector<int32_t> rows(n);
  std::vector<int32_t> positions(n);
  for (int32_t i = 0; i < batch.n; ++i) {
    rows[static_cast<size_t>(i)] = batch.row(i);
    positions[static_cast<size_t>(i)] = batch.position(i);
  }
  const std::vector<int64_t> rows_out(rows.begin(), rows.end());
  const std::vector<int64_t> kv_rows(positions.begin(), positions.end());
  fill<int32_t>(tokens_, inputs.tokens);
  fill<int32_t>(rows_, rows);
  fill<int64_t>(rows_out_, rows_out);
  fill<int32_t>(slots_, inputs.slots);
  fill<float>(weights_, inputs.weights);
  fill<int32_t>(positions_, positions);
  fill<int64_t>(kv_rows_, kv_rows);
  fill<ggml_fp16_t>(mask_, batch.mask);
}

void JobGraph::get(RoutingResult& routing) const {
  const auto count = static_cast<size_t>(ggml_nelements(routing_.experts));
  routing.experts.resize(count);
  routing.weights.resize(count);
  ggml_backend_tensor_get(routing_.experts, routing.experts.data(), 0, count * sizeof(int32_t));
  ggml_backend_tensor_get(routing_.weights, routing.weights.data(), 0, count * sizeof(float));
}

}  // namespace runahead
