#include "exec/job_graph.h"

#include <algorithm>

namespace runahead {
namespace {

// The layers of the model whose attention runs: [begin, end).
struct LayerRange {
  int32_t begin;
  int32_t end;
};

LayerRange attention_layers(Layers layers, const Hparams& hparams) {
  const auto layer_of = [&](int32_t job) {
    return hparams.expert_layers[static_cast<size_t>(job)];
  };
  return {layers.moe < 0 ? 0 : layer_of(layers.moe) + 1,
          layers.next < 0 ? hparams.n_layer() : layer_of(layers.next) + 1};
}

int32_t n_nodes(Layers layers, const Batch& batch, const ScoreNeeds& scores,
                const Hparams& hparams) {
  const int32_t n_lanes = static_cast<int32_t>(batch.lanes.size());
  const LayerRange range = attention_layers(layers, hparams);
  return 256 + 16 * n_lanes + 32 * hparams.n_expert_used +
         (range.end - range.begin) * (128 + 96 * n_lanes) + scores.n_lookahead * (8 + 4 * n_lanes);
}

// The routers behind layers.next that are asked, too.
int32_t n_lookahead(Layers layers, const ScoreNeeds& scores, const Hparams& hparams) {
  return std::min(scores.n_lookahead, hparams.n_job() - 1 - layers.next);
}

template <typename T>
void fill(ggml_tensor* tensor, std::span<const T> values) {
  // An input that no node reads has no memory: which masks are read depends on the layers.
  if (tensor != nullptr && tensor->buffer != nullptr) {
    ggml_backend_tensor_set(tensor, values.data(), 0, values.size_bytes());
  }
}

}  // namespace

JobGraph::JobGraph(Start start, Layers layers, const Batch& batch, const ScoreNeeds& scores,
                   const Family& family, const Hparams& hparams, Exactness* exactness,
                   const DeviceMemory& memory)
    : family_(family),
      hparams_(hparams),
      memory_(memory),
      graph_(n_nodes(layers, batch, scores, hparams)) {
  Builder b(graph_, hparams, exactness, memory.weights().model(), batch.n);
  b.set_zeros(memory.state(kZeros));
  const StateTensor which = DeviceMemory::residuals_of(batch);
  ggml_tensor* residuals = b.state(which, memory.state(which));

  ggml_tensor* x = start_with(b, start, layers, exactness, residuals);
  const LayerRange range = attention_layers(layers, hparams);
  if (range.begin < range.end) {
    b.set_attention(attention_inputs(batch));
  }
  for (int32_t il = range.begin; il < range.end; ++il) {
    b.set_layer(il, memory.weights().layer(il), il - memory.first_layer(layers));
    x = family.attention(b, x);
    if (!b.layer().has_experts) {
      x = family.dense_ffn(b, x);
    }
  }
  rows_out_ = graph_.input(GGML_TYPE_I64, batch.n);
  graph_.expand(ggml_set_rows(b.ctx(), residuals, x, rows_out_));
  if (layers.next >= 0) {
    router(b, x, layers, scores);
  }
  bind(layers, batch);
}

ggml_tensor* JobGraph::start_with(Builder& b, Start start, Layers layers, Exactness* exactness,
                                  ggml_tensor* residuals) {
  if (start == Start::kEmbed) {
    tokens_ = graph_.input(GGML_TYPE_I32, b.n());
    return family_.embed(b, tokens_);
  }
  const int64_t k = hparams_.n_expert_used;
  rows_ = graph_.input(GGML_TYPE_I32, b.n());
  weights_ = graph_.input(GGML_TYPE_F32, k, b.n());
  ggml_tensor* residual = ggml_get_rows(b.ctx(), residuals, rows_);
  const int32_t il = memory_.first_layer(layers);
  b.set_layer(il, memory_.weights().layer(il), 0);
  ggml_tensor* outputs = nullptr;  // [n_embd, n_expert_used, n]
  if (start == Start::kExperts) {
    slots_ = graph_.input(GGML_TYPE_I32, k, b.n());
    outputs = experts(b, residual, *exactness, memory_.pool_of(layers.moe));
  } else {
    ggml_tensor* waves = b.state(kWaveOutputs, memory_.state(kWaveOutputs));
    outputs = ggml_view_3d(b.ctx(), waves, hparams_.n_embd, k, b.n(), waves->nb[1],
                           waves->nb[1] * static_cast<size_t>(k), 0);
  }
  return family_.join_experts(b, weighted_sum(b, outputs, weights_), residual);
}

AttentionInputs JobGraph::attention_inputs(const Batch& batch) {
  AttentionInputs attention;
  attention.decode = batch.decode;
  attention.positions = positions_ = graph_.input(GGML_TYPE_I32, batch.n);
  attention.kv_rows = kv_rows_ = graph_.input(GGML_TYPE_I64, batch.n);
  for (size_t lane = 0; lane < batch.lanes.size(); ++lane) {
    attention.n_kv.push_back(batch.n_kv(lane));
  }
  if (!batch.decode) {
    const int64_t n_kv = attention.n_kv.front();
    attention.mask = mask_ = graph_.input(GGML_TYPE_F16, n_kv, batch.n);
    if (!batch.window_mask.empty()) {
      attention.window_mask = window_mask_ = graph_.input(GGML_TYPE_F16, n_kv, batch.n);
    }
  }
  return attention;
}

void JobGraph::router(Builder& b, ggml_tensor* x, Layers layers, const ScoreNeeds& scores) {
  ggml_tensor* input = family_.router_input(b, x);
  ggml_tensor* logits = family_.router_logits(b, input);
  routing_ = family_.route(b, logits);
  graph_.output(routing_.experts);
  graph_.output(routing_.weights);
  const auto softmax = [&](ggml_tensor* of) {
    ggml_tensor* probabilities = ggml_soft_max(b.ctx(), of);
    graph_.output(probabilities);
    return probabilities;
  };
  if (scores.probabilities) {
    probabilities_ = softmax(logits);
  }
  for (int32_t ahead = 1; ahead <= n_lookahead(layers, scores, hparams_); ++ahead) {
    const int32_t il = hparams_.expert_layers[static_cast<size_t>(layers.next + ahead)];
    b.set_layer(il, memory_.weights().layer(il), il - memory_.first_layer(layers));
    lookahead_.push_back(softmax(family_.router_logits(b, input)));
  }
}

ggml_tensor* JobGraph::experts(Builder& b, ggml_tensor* residual, Exactness& exactness,
                               const std::vector<ggml_tensor*>& pool) {
  // Columns are sliced where the pool's kernels would otherwise mix them.
  const int64_t width = exactness.exact_columns_of_pools(pool, static_cast<int32_t>(b.n()));
  b.set_pool(pool);
  ggml_tensor* input = family_.expert_input(b, residual);
  input = hparams_.weights_on_input ? weighted_inputs(b, input, weights_)
                                    : ggml_reshape_3d(b.ctx(), input, hparams_.n_embd, 1, b.n());
  ggml_tensor* outputs = nullptr;
  for (int64_t begin = 0; begin < b.n(); begin += width) {
    const int64_t n = std::min(width, b.n() - begin);
    ggml_tensor* columns =
        ggml_view_3d(b.ctx(), input, hparams_.n_embd, input->ne[1], n, input->nb[1], input->nb[2],
                     static_cast<size_t>(begin) * input->nb[2]);
    ggml_tensor* slots = b.columns(slots_, begin, n);
    ExpertOps ops;
    ops.product = [&](int32_t matrix, ggml_tensor* x) { return b.pool_product(matrix, x, slots); };
    ops.add_bias = [&](ggml_tensor* y, ggml_tensor* bias) {
      if (experts_ == nullptr) {
        experts_ = graph_.input(GGML_TYPE_I32, slots_->ne[0], b.n());
      }
      return ggml_add_id(b.ctx(), y, bias, b.columns(experts_, begin, n));
    };
    ggml_tensor* part = family_.expert_ffn(b, columns, ops);
    outputs = outputs == nullptr ? part : ggml_concat(b.ctx(), outputs, part, 2);
  }
  return outputs;
}

JobKey JobGraph::key_of(Start start, Layers layers, const Batch& batch, const ScoreNeeds& scores,
                        const Hparams& hparams, const DeviceMemory& memory) {
  JobKey key{};
  key.start = start;
  key.moe_class = layers.moe < 0 ? -1 : memory.class_of(layers.moe);
  key.routes = layers.next >= 0;
  const LayerRange range = attention_layers(layers, hparams);
  for (int32_t il = memory.first_layer(layers); il < range.end; ++il) {
    key.kinds.push_back(memory.weights().layer_kind(il));
  }
  for (size_t lane = 0; lane < batch.lanes.size(); ++lane) {
    key.n_kv.push_back(range.begin == range.end ? 0 : batch.n_kv(lane));
  }
  if (key.routes) {
    key.scores = {scores.probabilities, n_lookahead(layers, scores, hparams)};
    for (int32_t ahead = 1; ahead <= key.scores.n_lookahead; ++ahead) {
      const int32_t il = hparams.expert_layers[static_cast<size_t>(layers.next + ahead)];
      key.ahead_kinds.push_back(memory.weights().layer_kind(il));
      key.ahead_kinds.push_back(il - memory.first_layer(layers));
    }
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
  fill<int32_t>(slots_, inputs.chosen.slots);
  fill<int32_t>(experts_, inputs.chosen.experts);
  fill<float>(weights_, inputs.chosen.weights);
  fill<int32_t>(positions_, positions);
  fill<int64_t>(kv_rows_, kv_rows);
  fill<ggml_fp16_t>(mask_, batch.mask);
  fill<ggml_fp16_t>(window_mask_, batch.window_mask);
}

void JobGraph::get(RoutingResult& routing) const {
  const auto count = static_cast<size_t>(ggml_nelements(routing_.experts));
  routing.experts.resize(count);
  routing.weights.resize(count);
  ggml_backend_tensor_get(routing_.experts, routing.experts.data(), 0, count * sizeof(int32_t));
  ggml_backend_tensor_get(routing_.weights, routing.weights.data(), 0, count * sizeof(float));
  const auto get_scores = [](ggml_tensor* tensor, std::vector<float>& out) {
    out.resize(tensor == nullptr ? 0 : static_cast<size_t>(ggml_nelements(tensor)));
    if (tensor != nullptr) {
      ggml_backend_tensor_get(tensor, out.data(), 0, ggml_nbytes(tensor));
      // A router whose logits are not numbers says nothing: predictors need a distribution.
      const ptrdiff_t n_expert = tensor->ne[0];
      for (auto row = out.begin(); row != out.end(); row += n_expert) {
        if (!(*row >= 0)) {
          std::fill(row, row + n_expert, 1.0F / static_cast<float>(n_expert));
        }
      }
    }
  };
  get_scores(probabilities_, routing.probabilities);
  routing.lookahead.resize(lookahead_.size());
  for (size_t i = 0; i < lookahead_.size(); ++i) {
    get_scores(lookahead_[i], routing.lookahead[i]);
  }
}

}  // namespace runahead
