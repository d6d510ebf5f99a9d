#include "exec/wave_graph.h"

#include <algorithm>

namespace runahead {

WaveGraph::WaveGraph(int32_t layer, const Batch& batch, std::span<const ExpertColumns> experts,
                     const Family& family, const Hparams& hparams, Exactness* exactness,
                     const DeviceMemory& memory)
    : family_(family),
      hparams_(hparams),
      graph_(64 + 32 * static_cast<int32_t>(experts.size()) +
             32 * batch.n * (exactness != nullptr)) {
  Builder b(graph_, hparams, exactness, memory.weights().model(), batch.n);
  const auto& pool = memory.pool_of(layer);
  const Layers layers{layer, -1};
  const int32_t il = memory.first_layer(layers);
  b.set_layer(il, memory.weights().layer(il), 0);
  b.set_pool(pool);
  const StateTensor which = DeviceMemory::residuals_of(batch);
  std::vector<int32_t> rows;
  for (int32_t i = 0; i < batch.n; ++i) {
    rows.push_back(batch.row(i));
  }
  ggml_tensor* residuals = b.state(which, memory.state(which));
  ggml_tensor* input =
      family.expert_input(b, ggml_get_rows(b.ctx(), residuals, ids(std::move(rows), batch.n)));
  ggml_tensor* outputs = b.state(kWaveOutputs, memory.state(kWaveOutputs));
  if (exactness != nullptr) {
    const int32_t width = exactness->exact_columns_of_pools(pool, batch.n);
    for (int32_t begin = 0; begin < batch.n; begin += width) {
      over_slots(b, input, outputs, experts, begin, begin + width);
    }
  } else {
    for (const ExpertColumns& expert : experts) {
      one_expert(b, input, outputs, expert, pool);
    }
  }
  graph_.bind([&](Binding binding) { return memory.find(binding, layers, batch); });
}

ggml_tensor* WaveGraph::ids(std::vector<int32_t> values, int64_t ne0) {
  ggml_tensor* tensor = graph_.input(GGML_TYPE_I32, ne0, static_cast<int64_t>(values.size()) / ne0);
  i32_inputs_.emplace_back(tensor, std::move(values));
  return tensor;
}

ggml_tensor* WaveGraph::columns_of(Builder& b, ggml_tensor* input, std::vector<int32_t> columns,
                                   std::vector<float> weights) {
  const auto n = static_cast<int64_t>(columns.size());
  ggml_tensor* x = ggml_get_rows(b.ctx(), input, ids(std::move(columns), n));
  if (!hparams_.weights_on_input) {
    return x;
  }
  ggml_tensor* of_columns = graph_.input(GGML_TYPE_F32, 1, n);
  f32_inputs_.emplace_back(of_columns, std::move(weights));
  return ggml_mul(b.ctx(), x, of_columns);
}

void WaveGraph::place(Builder& b, ggml_tensor* outputs, ggml_tensor* y,
                      std::vector<int64_t> targets) {
  ggml_tensor* rows = graph_.input(GGML_TYPE_I64, static_cast<int64_t>(targets.size()));
  i64_inputs_.emplace_back(rows, std::move(targets));
  graph_.expand(ggml_set_rows(b.ctx(), outputs, y, rows));
}

int64_t WaveGraph::target(const ExpertColumns& expert, size_t i) const {
  return int64_t{expert.columns[i]} * hparams_.n_expert_used + expert.places[i];
}

void WaveGraph::over_slots(Builder& b, ggml_tensor* input, ggml_tensor* outputs,
                           std::span<const ExpertColumns> experts, int32_t begin, int32_t end) {
  std::vector<int32_t> columns;
  std::vector<int32_t> slots;
  std::vector<int32_t> ids_of_experts;
  std::vector<float> weights;
  std::vector<int64_t> targets;
  for (const ExpertColumns& expert : experts) {
    for (size_t i = 0; i < expert.columns.size(); ++i) {
      if (expert.columns[i] >= begin && expert.columns[i] < end) {
        columns.push_back(expert.columns[i]);
        slots.push_back(to_int(expert.slot));
        ids_of_experts.push_back(expert.expert);
        weights.push_back(expert.weights[i]);
        targets.push_back(target(expert, i));
      }
    }
  }
  const auto n = static_cast<int64_t>(columns.size());
  if (n == 0) {
    return;
  }
  ggml_tensor* x = columns_of(b, input, std::move(columns), std::move(weights));
  x = ggml_reshape_3d(b.ctx(), x, hparams_.n_embd, 1, n);
  ggml_tensor* slot_ids = ids(std::move(slots), 1);
  ExpertOps ops;
  ops.product = [&](int32_t matrix, ggml_tensor* in) {
    return b.pool_product(matrix, in, slot_ids);
  };
  ops.add_bias = [&](ggml_tensor* y, ggml_tensor* bias) {
    return ggml_add_id(b.ctx(), y, bias, ids(ids_of_experts, 1));
  };
  ggml_tensor* y = family_.expert_ffn(b, x, ops);
  place(b, outputs, ggml_reshape_2d(b.ctx(), y, hparams_.n_embd, n), std::move(targets));
}

void WaveGraph::one_expert(Builder& b, ggml_tensor* input, ggml_tensor* outputs,
                           const ExpertColumns& expert, const std::vector<ggml_tensor*>& pool) {
  std::vector<int64_t> targets(expert.columns.size());
  for (size_t i = 0; i < targets.size(); ++i) {
    targets[i] = target(expert, i);
  }
  ggml_tensor* x = columns_of(b, input, expert.columns, expert.weights);
  ExpertOps ops;
  ops.product = [&](int32_t matrix, ggml_tensor* in) {
    const ggml_tensor* slots = pool[static_cast<size_t>(matrix)];
    const size_t offset = static_cast<size_t>(to_int(expert.slot)) * slots->nb[2];
    return ggml_mul_mat(b.ctx(), graph_.fixed(slots, offset, slots->ne[0], slots->ne[1]), in);
  };
  ops.add_bias = [&](ggml_tensor* y, ggml_tensor* bias) {
    const size_t offset = static_cast<size_t>(expert.expert) * bias->nb[1];
    return ggml_add(b.ctx(), y, ggml_view_1d(b.ctx(), bias, bias->ne[0], offset));
  };
  ggml_tensor* y = family_.expert_ffn(b, x, ops);
  place(b, outputs, y, std::move(targets));
}

void WaveGraph::set() const {
  const auto fill = [](const auto& inputs) {
    for (const auto& [tensor, values] : inputs) {
      ggml_backend_tensor_set(tensor, values.data(), 0, ggml_nbytes(tensor));
    }
  };
  fill(i32_inputs_);
  fill(i64_inputs_);
  fill(f32_inputs_);
}

}  // namespace runahead
