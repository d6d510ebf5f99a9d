#include "exec/forward.h"

#include <algorithm>
#include <numeric>

#include "base/clock.h"
#include "base/error.h"

namespace runahead {
namespace {

// Bounds of the decode graphs kept: how many, and the memory of their intermediate results.
constexpr size_t kCachedGraphs = 64;
constexpr size_t kCachedBytes = size_t{64} << 20;

}  // namespace

Forward::Forward(Device& device, const Family& family, const Hparams& hparams, DeviceMemory& memory,
                 int32_t max_lanes)
    : device_(device),
      family_(family),
      hparams_(hparams),
      memory_(memory),
      exactness_(device, max_lanes),
      shared_(ggml_gallocr_new(device.buffer_type())) {}

JobGraph& Forward::job_graph(Start start, Layers layers, const Batch& batch) {
  if (!batch.decode) {
    chunk_job_ = std::make_unique<JobGraph>(start, layers, batch, ScoreNeeds{}, family_, hparams_,
                                            nullptr, memory_);
    chunk_job_->graph().allocate_from(shared_.get());
    return *chunk_job_;
  }
  JobKey key = JobGraph::key_of(start, layers, batch, scores_, hparams_, memory_);
  const auto found = std::find_if(jobs_.begin(), jobs_.end(),
                                  [&](const auto& entry) { return entry.first == key; });
  if (found != jobs_.end()) {
    jobs_.splice(jobs_.begin(), jobs_, found);
    return *found->second;
  }
  auto job = std::make_unique<JobGraph>(start, layers, batch, scores_, family_, hparams_,
                                        &exactness_, memory_);
  job->graph().allocate(device_.buffer_type());
  cached_bytes_ += job->graph().memory_bytes();
  jobs_.emplace_front(std::move(key), std::move(job));
  while (jobs_.size() > 1 && (jobs_.size() > kCachedGraphs || cached_bytes_ > kCachedBytes)) {
    cached_bytes_ -= jobs_.back().second->graph().memory_bytes();
    jobs_.pop_back();
  }
  return *jobs_.front().second;
}

void Forward::front(const Batch& batch, std::span<const int32_t> tokens, RoutingResult& routing) {
  const Layers layers{-1, 0};
  JobGraph& job = job_graph(Start::kEmbed, layers, batch);
  job.set(layers, batch, {tokens, {}});
  compute(job.graph());
  job.get(routing);
}

void Forward::job(Start start, int32_t layer, const Batch& batch, const ChosenExperts& chosen,
                  RoutingResult* routing) {
  const Layers layers{layer, routing == nullptr ? -1 : layer + 1};
  memory_.cover(layer, chosen.slots);
  JobGraph& job = job_graph(start, layers, batch);
  job.set(layers, batch, {{}, chosen});
  compute(job.graph());
  if (routing != nullptr) {
    job.get(*routing);
  }
}

void Forward::wave(int32_t layer, const Batch& batch, std::span<const ExpertColumns> experts) {
  for (const ExpertColumns& expert : experts) {
    const int32_t slot = to_int(expert.slot);
    memory_.cover(layer, std::span(&slot, 1));
  }
  WaveGraph wave(layer, batch, experts, family_, hparams_, batch.decode ? &exactness_ : nullptr,
                 memory_);
  wave.graph().allocate_from(shared_.get());
  wave.set();
  compute(wave.graph());
}

void Forward::head(const Batch& batch, std::span<const int32_t> columns, Exactness* exactness,
                   std::span<float> out) {
  const auto n = static_cast<int64_t>(columns.size());
  Graph graph(64 + 4 * static_cast<int32_t>(n));
  Builder b(graph, hparams_, exactness, memory_.weights().model(), n);
  b.set_zeros(memory_.state(kZeros));
  const StateTensor which = DeviceMemory::residuals_of(batch);
  ggml_tensor* rows = graph.input(GGML_TYPE_I32, n);
  ggml_tensor* x = ggml_get_rows(b.ctx(), b.state(which, memory_.state(which)), rows);
  ggml_tensor* logits = family_.head(b, x);
  graph.output(logits);
  graph.bind([&](Binding binding) { return memory_.find(binding, {}, batch); });
  graph.allocate_from(shared_.get());
  std::vector<int32_t> row_ids;
  for (const int32_t column : columns) {
    row_ids.push_back(batch.row(column));
  }
  ggml_backend_tensor_set(rows, row_ids.data(), 0, ggml_nbytes(rows));
  compute(graph);
  ggml_backend_tensor_get(logits, out.data(), 0, out.size_bytes());
}

void Forward::head(const Batch& batch, std::span<const int32_t> columns, std::span<float> out) {
  head(batch, columns, &exactness_, out);
}

void Forward::head_of_chunk(const Batch& batch, std::span<float> out) {
  std::vector<int32_t> columns(static_cast<size_t>(batch.n));
  std::iota(columns.begin(), columns.end(), 0);
  head(batch, columns, nullptr, out);
}

void Forward::compute(Graph& graph) {
  const int64_t begin = now_ns();
  device_.compute(graph.cgraph());
  device_ns_ += now_ns() - begin;
}

}  // namespace runahead
