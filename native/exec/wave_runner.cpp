#include "exec/wave_runner.h"

#include <vector>

#include "base/clock.h"

namespace runahead {

bool WaveRunner::run(int32_t step, int32_t layer, const Batch& batch, RequestId request,
                     const RoutingResult& routing, int32_t only_column,
                     std::optional<ExpertFeed::Failure>& failure, const std::function<bool()>& stop,
                     int32_t& n_waves) {
  // The columns of every expert, and its place among theirs.
  const int32_t k = hparams_.n_expert_used;
  std::vector<ExpertColumns> columns(static_cast<size_t>(hparams_.n_expert));
  const int32_t first = only_column < 0 ? 0 : only_column;
  const int32_t last = only_column < 0 ? batch.n : only_column + 1;
  for (int32_t column = first; column < last; ++column) {
    for (int32_t place = 0; place < k; ++place) {
      const auto at = static_cast<size_t>(column * k + place);
      const int32_t id = routing.experts[at];
      ExpertColumns& expert = columns[static_cast<size_t>(id)];
      expert.expert = id;
      expert.columns.push_back(column);
      expert.places.push_back(place);
      expert.weights.push_back(routing.weights[at]);
    }
  }
  std::vector<int32_t> distinct;
  for (int32_t expert = 0; expert < hparams_.n_expert; ++expert) {
    if (!columns[static_cast<size_t>(expert)].columns.empty()) {
      distinct.push_back(expert);
    }
  }

  std::unique_lock lock = feed_.lock();
  feed_.serve_waves(true);
  feed_.set_step(step);
  Waves& waves = feed_.waves();
  auto issued = waves.begin(request, layer, distinct);
  feed_.issued(issued);
  tracer_.cache_decisions(request, issued, hparams_.n_expert);
  while (!waves.finished()) {
    if (stop()) {
      waves.abandon();
      break;
    }
    const std::optional<Waves::Wave> wave = waves.next_wave();
    if (!wave) {
      const int64_t waiting = now_ns();
      feed_.wait(lock);
      waited_ns_ += now_ns() - waiting;
      tracer_.cache_decisions(request, feed_.take_issued_by_readers(), hparams_.n_expert);
      continue;
    }
    std::vector<ExpertColumns> part;
    int64_t n_pairs = 0;
    for (size_t i = 0; i < wave->experts.size(); ++i) {
      ExpertColumns& expert = columns[static_cast<size_t>(wave->experts[i])];
      expert.slot = wave->slots[i];
      n_pairs += static_cast<int64_t>(expert.columns.size());
      part.push_back(std::move(expert));
    }
    lock.unlock();
    const int64_t begin = now_ns();
    try {
      forward_.wave(layer, batch, part);
    } catch (...) {
      lock.lock();
      waves.abandon();
      waves.finish_wave(*wave);
      feed_.forget_reports();
      throw;
    }
    tracer_.span(Event::kWave, begin, to_int(request), layer, static_cast<int64_t>(part.size()),
                 n_pairs);
    ++n_waves;
    lock.lock();
    waves.finish_wave(*wave);
    issued = waves.issued();
    feed_.issued(issued);
    tracer_.cache_decisions(request, issued, hparams_.n_expert);
  }
  tracer_.cache_decisions(request, feed_.take_issued_by_readers(), hparams_.n_expert);
  const auto failures = feed_.take_failures();
  if (!failures.empty()) {
    failure = failures.front();
    return false;
  }
  return !stop();
}

}  // namespace runahead
