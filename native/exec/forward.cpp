#include "exec/forward.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/clock.h"
#include "base/error.h"

namespace runahead {
namespace {

// Decode graphs kept; each holds a few hundred kilobytes per request of intermediate results.
constexpr size_t kCachedGraphs = 48;

template <typename T>
void fill(ggml_tensor* tensor, const std::vector<T>& values) {
  ggml_backend_tensor_set(tensor, values.data(), 0, values.size() * sizeof(T));
}

}  // namespace

// What a decode graph depends on.
struct Forward::Key {
  Start start;
  int32_t moe_class;   // -1: embedding
  int32_t moe_kind;
  int32_t next_kind;   // -1: no next layer
  std::vector<int32_t> n_kv;
  bool operator==(const Key&) const = default;
};

struct Forward::Job {
  explicit Job(int32_t max_nodes) : graph(max_nodes) {}
  Key key{};
  Graph graph;
  ggml_tensor* tokens = nullptr;      // I32 [n]
  ggml_tensor* rows = nullptr;        // I32 [n], residual rows
  ggml_tensor* rows_out = nullptr;    // I64 [n], the same for writing
  ggml_tensor* slots = nullptr;       // I32 [n_expert_used, n]
  ggml_tensor* weights = nullptr;     // F32 [n_expert_used, n]
  ggml_tensor* positions = nullptr;   // I32 [n]
  ggml_tensor* kv_rows = nullptr;     // I64 [n]
  ggml_tensor* mask = nullptr;        // F16 [n_kv, n], prefill
  Routing routing{};
};

Forward::Forward(Device& device, const Family& family, const Hparams& hparams, const Weights& weights,
                 const std::vector<std::unique_ptr<SlotPool>>& pools, const std::vector<int32_t>& class_of_layer,
                 int32_t max_lanes, int32_t max_chunk)
    : device_(device),
      family_(family),
      hparams_(hparams),
      weights_(weights),
      pools_(pools),
      class_of_layer_(class_of_layer),
      exactness_(device, max_lanes) {
  ctx_.reset(ggml_init({ggml_tensor_overhead() * 4, nullptr, true}));
  lanes_state_ = ggml_new_tensor_2d(ctx_.get(), GGML_TYPE_F32, hparams.n_embd, max_lanes);
  chunk_state_ = ggml_new_tensor_2d(ctx_.get(), GGML_TYPE_F32, hparams.n_embd, max_chunk);
  outputs_ = ggml_new_tensor_2d(ctx_.get(), GGML_TYPE_F32, hparams.n_embd,
                                int64_t{hparams.n_expert_used} * std::max(max_lanes, max_chunk));
  zeros_ = ggml_new_tensor_2d(ctx_.get(), GGML_TYPE_I32, 1, max_lanes);
  buffer_.reset(ggml_backend_alloc_ctx_tensors_from_buft(ctx_.get(), device.buffer_type()));
  if (buffer_ == nullptr) {
    throw Error(ErrorCode::kNoMemory, "no memory for the residuals of " + std::to_string(max_lanes) + " requests");
  }
  ggml_backend_buffer_clear(buffer_.get(), 0);
  chunk_memory_.reset(ggml_gallocr_new(device.buffer_type()));
}

Forward::~Forward() = default;

void Forward::cover(int32_t layer, std::span<const int32_t> slots) {
  SlotPool& pool = *pools_[static_cast<size_t>(class_of_layer_[static_cast<size_t>(layer)])];
  for (const int32_t slot : slots) {
    pool.cover(SlotId{slot});
  }
}

const std::vector<ggml_tensor*>& Forward::pool_of(int32_t layer) const {
  return pools_[static_cast<size_t>(class_of_layer_[static_cast<size_t>(layer)])]->tensors();
}

const ggml_tensor* Forward::find(Binding binding, int32_t moe_layer, int32_t next_layer, const Batch& batch) const {
  const auto index = static_cast<size_t>(binding.index);
  switch (binding.source) {
    case Source::kModel: return weights_.model()[index];
    case Source::kLayer: return weights_.layer(next_layer)[index];
    case Source::kMoe: return weights_.layer(moe_layer)[index];
    case Source::kPool: return pool_of(moe_layer)[index];
    case Source::kState:
      switch (binding.index) {
        case 0: return lanes_state_;
        case 1: return chunk_state_;
        case 2: return outputs_;
        default: return zeros_;
      }
    case Source::kKv: {
      const KvCache& kv = *batch.lanes[index / 3].kv;
      switch (index % 3) {
        case 0: return kv.keys(next_layer);
        case 1: return kv.values(next_layer);
        default: return kv.mask();
      }
    }
  }
  return nullptr;
}

ggml_tensor* Forward::experts_over_slots(Builder& b, ggml_tensor* x, ggml_tensor* slots, ggml_tensor* weights,
                                         const std::vector<ggml_tensor*>& pool) {
  // Columns are sliced where the pool's kernels would otherwise mix them.
  int64_t width = b.n();
  for (const ggml_tensor* matrix : pool) {
    width = std::min<int64_t>(width, exactness_.exact_columns_of_pool(matrix));
  }
  const int64_t k = hparams_.n_expert_used;
  ggml_tensor* input = ggml_reshape_3d(b.ctx(), family_.expert_input(b, x), hparams_.n_embd, 1, b.n());
  ggml_tensor* y = nullptr;
  for (int64_t begin = 0; begin < b.n(); begin += width) {
    const int64_t n = std::min(width, b.n() - begin);
    const auto at = static_cast<size_t>(begin);
    ggml_tensor* columns = ggml_view_3d(b.ctx(), input, hparams_.n_embd, 1, n, input->nb[1], input->nb[2], at * input->nb[2]);
    ggml_tensor* ids = ggml_view_2d(b.ctx(), slots, k, n, slots->nb[1], at * slots->nb[1]);
    ggml_tensor* part = family_.expert_ffn(b, columns, [&](int32_t matrix, ggml_tensor* in) {
      return b.pool_product(matrix, in, ids);
    });
    y = y == nullptr ? part : ggml_concat(b.ctx(), y, part, 2);
  }
  return b.weighted_sum(y, weights);
}

std::unique_ptr<Forward::Job> Forward::build(Start start, int32_t moe_layer, int32_t next_layer, const Batch& batch) {
  const int64_t n = batch.n;
  const int64_t k = hparams_.n_expert_used;
  auto job = std::make_unique<Job>(256 + 32 * static_cast<int32_t>(batch.lanes.size()) + 16 * hparams_.n_expert_used);
  Graph& graph = job->graph;
  Builder b(graph, hparams_, batch.decode ? &exactness_ : nullptr, n);
  b.set_model(&weights_.model());
  ggml_tensor* state = b.state(state_index(batch.decode), batch.decode ? lanes_state_ : chunk_state_);
  ggml_tensor zeros = *zeros_;
  zeros.ne[1] = n;
  b.set_zeros(&zeros);

  job->rows_out = graph.input(GGML_TYPE_I64, n);
  ggml_tensor* x = nullptr;
  if (start == Start::kEmbed) {
    job->tokens = graph.input(GGML_TYPE_I32, n);
    x = family_.embed(b, job->tokens);
  } else {
    job->rows = graph.input(GGML_TYPE_I32, n);
    job->weights = graph.input(GGML_TYPE_F32, k, n);
    ggml_tensor* residual = ggml_get_rows(b.ctx(), state, job->rows);
    b.set_moe(&weights_.layer(moe_layer), pool_of(moe_layer));
    ggml_tensor* added = nullptr;
    if (start == Start::kExperts) {
      job->slots = graph.input(GGML_TYPE_I32, k, n);
      added = experts_over_slots(b, residual, job->slots, job->weights, pool_of(moe_layer));
    } else {
      ggml_tensor* y = ggml_view_3d(b.ctx(), b.state(2, outputs_), hparams_.n_embd, k, n, outputs_->nb[1],
                                    outputs_->nb[1] * static_cast<size_t>(k), 0);
      added = b.weighted_sum(y, job->weights);
    }
    x = ggml_add(b.ctx(), added, residual);
  }
  if (next_layer >= 0) {
    AttentionInputs attention;
    attention.decode = batch.decode;
    attention.kv_prototype = batch.lanes.front().kv->keys(next_layer);
    attention.positions = job->positions = graph.input(GGML_TYPE_I32, n);
    attention.kv_rows = job->kv_rows = graph.input(GGML_TYPE_I64, n);
    for (const Lane& lane : batch.lanes) {
      attention.n_kv.push_back(kv_bucket(lane.position + (batch.decode ? 1 : batch.n)));
    }
    if (!batch.decode) {
      attention.mask = job->mask = graph.input(GGML_TYPE_F16, attention.n_kv.front(), n);
    }
    b.set_layer(&weights_.layer(next_layer));
    b.set_attention(std::move(attention));
    x = family_.attention(b, x);
    graph.expand(ggml_set_rows(b.ctx(), state, x, job->rows_out));
    job->routing = family_.route(b, x);
    graph.output(job->routing.experts);
    graph.output(job->routing.weights);
  } else {
    graph.expand(ggml_set_rows(b.ctx(), state, x, job->rows_out));
  }
  graph.bind([&](Binding binding) { return find(binding, moe_layer, next_layer, batch); });
  if (batch.decode) {
    graph.allocate(device_.buffer_type());
  } else {
    graph.allocate_from(chunk_memory_.get());
  }
  return job;
}

Forward::Job& Forward::job_graph(Start start, int32_t layer, bool route, const Batch& batch) {
  const int32_t moe_layer = start == Start::kEmbed ? -1 : layer;
  const int32_t next_layer = !route ? -1 : (start == Start::kEmbed ? 0 : layer + 1);
  if (!batch.decode) {
    chunk_job_ = build(start, moe_layer, next_layer, batch);
    return *chunk_job_;
  }
  Key key{start, moe_layer < 0 ? -1 : class_of_layer_[static_cast<size_t>(moe_layer)],
          moe_layer < 0 ? -1 : weights_.layer_kind(moe_layer), next_layer < 0 ? -1 : weights_.layer_kind(next_layer), {}};
  for (const Lane& lane : batch.lanes) {
    key.n_kv.push_back(next_layer < 0 ? 0 : kv_bucket(lane.position + 1));
  }
  const auto found = std::find_if(jobs_.begin(), jobs_.end(), [&](const auto& job) { return job->key == key; });
  if (found != jobs_.end()) {
    jobs_.splice(jobs_.begin(), jobs_, found);
  } else {
    jobs_.push_front(build(start, moe_layer, next_layer, batch));
    jobs_.front()->key = std::move(key);
    if (jobs_.size() > kCachedGraphs) {
      jobs_.pop_back();
    }
  }
  return *jobs_.front();
}

void Forward::run(Job& job, int32_t moe_layer, int32_t next_layer, const Batch& batch, std::span<const int32_t> tokens,
                  std::span<const int32_t> slots, std::span<const float> weights, RoutingResult* routing) {
  job.graph.bind([&](Binding binding) { return find(binding, moe_layer, next_layer, batch); });
  const auto n = static_cast<size_t>(batch.n);
  std::vector<int32_t> rows(n);
  std::vector<int32_t> positions(n);
  if (batch.decode) {
    for (size_t i = 0; i < n; ++i) {
      rows[i] = batch.lanes[i].row;
      positions[i] = batch.lanes[i].position;
    }
  } else {
    std::iota(rows.begin(), rows.end(), 0);
    std::iota(positions.begin(), positions.end(), batch.lanes.front().position);
  }
  fill(job.rows_out, std::vector<int64_t>(rows.begin(), rows.end()));
  if (job.rows != nullptr) {
    fill(job.rows, rows);
  }
  if (job.tokens != nullptr) {
    ggml_backend_tensor_set(job.tokens, tokens.data(), 0, tokens.size_bytes());
  }
  if (job.slots != nullptr) {
    ggml_backend_tensor_set(job.slots, slots.data(), 0, slots.size_bytes());
  }
  if (job.weights != nullptr) {
    ggml_backend_tensor_set(job.weights, weights.data(), 0, weights.size_bytes());
  }
  if (job.positions != nullptr) {
    fill(job.positions, positions);
    fill(job.kv_rows, std::vector<int64_t>(positions.begin(), positions.end()));
  }
  if (job.mask != nullptr) {
    const auto n_kv = static_cast<size_t>(job.mask->ne[0]);
    std::vector<ggml_fp16_t> mask(n_kv * n, ggml_fp32_to_fp16(-INFINITY));
    for (size_t i = 0; i < n; ++i) {
      std::fill_n(mask.begin() + static_cast<ptrdiff_t>(i * n_kv), positions[i] + 1, ggml_fp32_to_fp16(0.0F));
    }
    fill(job.mask, mask);
  }
  compute(job.graph.cgraph());
  if (routing != nullptr) {
    const size_t count = n * static_cast<size_t>(hparams_.n_expert_used);
    routing->experts.resize(count);
    routing->weights.resize(count);
    ggml_backend_tensor_get(job.routing.experts, routing->experts.data(), 0, count * sizeof(int32_t));
    ggml_backend_tensor_get(job.routing.weights, routing->weights.data(), 0, count * sizeof(float));
  }
}

void Forward::front(const Batch& batch, std::span<const int32_t> tokens, RoutingResult& routing) {
  run(job_graph(Start::kEmbed, -1, true, batch), -1, 0, batch, tokens, {}, {}, &routing);
}

void Forward::job(Start start, int32_t layer, const Batch& batch, std::span<const int32_t> slots,
                  std::span<const float> weights, RoutingResult* routing) {
  const int32_t next_layer = routing == nullptr ? -1 : layer + 1;
  cover(layer, slots);
  run(job_graph(start, layer, routing != nullptr, batch), layer, next_layer, batch, {}, slots, weights, routing);
}

void Forward::wave(int32_t layer, const Batch& batch, std::span<const ExpertColumns> experts) {
  const int32_t k = hparams_.n_expert_used;
  for (const ExpertColumns& expert : experts) {
    const int32_t slot = to_int(expert.slot);
    cover(layer, std::span(&slot, 1));
  }
  const auto& pool = pool_of(layer);
  Graph graph(static_cast<int32_t>(64 + experts.size() * 24));
  Builder b(graph, hparams_, batch.decode ? &exactness_ : nullptr, batch.n);
  b.set_moe(&weights_.layer(layer), pool);
  ggml_tensor* state = b.state(state_index(batch.decode), batch.decode ? lanes_state_ : chunk_state_);
  ggml_tensor* rows = graph.input(GGML_TYPE_I32, batch.n);
  ggml_tensor* input = family_.expert_input(b, ggml_get_rows(b.ctx(), state, rows));
  ggml_tensor* outputs = b.state(2, outputs_);

  // Inputs are filled after allocation, in the order in which they were made.
  std::vector<std::pair<ggml_tensor*, std::vector<int32_t>>> i32;
  std::vector<std::pair<ggml_tensor*, std::vector<int64_t>>> i64;
  const auto columns_of = [&](std::vector<int32_t> columns) {
    i32.emplace_back(graph.input(GGML_TYPE_I32, static_cast<int64_t>(columns.size())), std::move(columns));
    return ggml_get_rows(b.ctx(), input, i32.back().first);
  };
  const auto place = [&](ggml_tensor* y, std::vector<int64_t> targets) {
    i64.emplace_back(graph.input(GGML_TYPE_I64, static_cast<int64_t>(targets.size())), std::move(targets));
    graph.expand(ggml_set_rows(b.ctx(), outputs, y, i64.back().first));
  };
  const auto target = [&](const ExpertColumns& expert, size_t i) {
    return int64_t{expert.columns[i]} * k + expert.places[i];
  };

  if (batch.decode) {
    // The same products as over slots, for the pairs of this wave; sliced by columns in the same way.
    int32_t width = batch.n;
    for (const ggml_tensor* matrix : pool) {
      width = std::min(width, exactness_.exact_columns_of_pool(matrix));
    }
    for (int32_t begin = 0; begin < batch.n; begin += width) {
      std::vector<int32_t> columns;
      std::vector<int32_t> slots;
      std::vector<int64_t> targets;
      for (const ExpertColumns& expert : experts) {
        for (size_t i = 0; i < expert.columns.size(); ++i) {
          if (expert.columns[i] >= begin && expert.columns[i] < begin + width) {
            columns.push_back(expert.columns[i]);
            slots.push_back(to_int(expert.slot));
            targets.push_back(target(expert, i));
          }
        }
      }
      const auto n = static_cast<int64_t>(columns.size());
      if (n == 0) {
        continue;
      }
      ggml_tensor* x = ggml_reshape_3d(b.ctx(), columns_of(std::move(columns)), hparams_.n_embd, 1, n);
      i32.emplace_back(graph.input(GGML_TYPE_I32, 1, n), std::move(slots));
      ggml_tensor* ids = i32.back().first;
      ggml_tensor* y = family_.expert_ffn(
          b, x, [&](int32_t matrix, ggml_tensor* in) { return b.pool_product(matrix, in, ids); });
      place(ggml_reshape_2d(b.ctx(), y, hparams_.n_embd, n), std::move(targets));
    }
  } else {
    // Many columns per expert: one matrix product each, which reads the expert once.
    for (const ExpertColumns& expert : experts) {
      std::vector<int64_t> targets(expert.columns.size());
      for (size_t i = 0; i < targets.size(); ++i) {
        targets[i] = target(expert, i);
      }
      ggml_tensor* y = family_.expert_ffn(b, columns_of(expert.columns), [&](int32_t matrix, ggml_tensor* in) {
        const ggml_tensor* slots = pool[static_cast<size_t>(matrix)];
        return ggml_mul_mat(
            b.ctx(), graph.fixed(slots, static_cast<size_t>(to_int(expert.slot)) * slots->nb[2], slots->ne[0], slots->ne[1]),
            in);
      });
      place(y, std::move(targets));
    }
  }
  graph.bind([&](Binding binding) { return find(binding, layer, -1, batch); });
  graph.allocate_from(chunk_memory_.get());
  std::vector<int32_t> row_values(static_cast<size_t>(batch.n));
  if (batch.decode) {
    std::transform(batch.lanes.begin(), batch.lanes.end(), row_values.begin(), [](const Lane& lane) { return lane.row; });
  } else {
    std::iota(row_values.begin(), row_values.end(), 0);
  }
  fill(rows, row_values);
  for (const auto& [tensor, values] : i32) {
    fill(tensor, values);
  }
  for (const auto& [tensor, values] : i64) {
    fill(tensor, values);
  }
  compute(graph.cgraph());
}

void Forward::head(ggml_tensor* state, bool exact, std::span<const int32_t> rows, std::span<float> out) {
  const auto n = static_cast<int64_t>(rows.size());
  Graph graph(64 + 4 * static_cast<int32_t>(n));
  Builder b(graph, hparams_, exact ? &exactness_ : nullptr, n);
  b.set_model(&weights_.model());
  ggml_tensor zeros = *zeros_;
  zeros.ne[1] = n;
  b.set_zeros(&zeros);
  ggml_tensor* ids = graph.input(GGML_TYPE_I32, n);
  ggml_tensor* logits = family_.head(b, ggml_get_rows(b.ctx(), b.state(state == lanes_state_ ? 0 : 1, state), ids));
  graph.output(logits);
  graph.bind([&](Binding binding) { return find(binding, -1, -1, {}); });
  graph.allocate_from(chunk_memory_.get());
  ggml_backend_tensor_set(ids, rows.data(), 0, rows.size_bytes());
  compute(graph.cgraph());
  ggml_backend_tensor_get(logits, out.data(), 0, out.size_bytes());
}

void Forward::head(bool decode, std::span<const int32_t> rows, std::span<float> out) {
  head(decode ? lanes_state_ : chunk_state_, true, rows, out);
}

void Forward::head_of_chunk(int32_t n, std::span<float> out) {
  std::vector<int32_t> rows(static_cast<size_t>(n));
  std::iota(rows.begin(), rows.end(), 0);
  head(chunk_state_, false, rows, out);
}

void Forward::compute(ggml_cgraph* graph) {
  const int64_t begin = now_ns();
  device_.compute(graph);
  device_ns_ += now_ns() - begin;
}

int64_t Forward::take_device_ns() { return std::exchange(device_ns_, 0); }

}  // namespace runahead
