// exec/wave_runner.h
//
// WaveRunner runs all experts that a batch chose at one layer, in waves: those that are present
// while the others are read (sched/waves.h). Engine thread only.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "exec/expert_feed.h"
#include "exec/forward.h"
#include "exec/tracer.h"

namespace runahead {

class WaveRunner {
 public:
  // All outlive this.
  WaveRunner(Forward& forward, ExpertFeed& feed, Tracer& tracer, const Hparams& hparams)
      : forward_(forward), feed_(feed), tracer_(tracer), hparams_(hparams) {}

  // The experts that `routing` chose; only_column >= 0: for that column alone. False: a read failed
  // (then `failure` says which) or `stop` said so; nothing stays pinned. Adds to n_waves. Throws
  // when the device fails, with nothing pinned.
  bool run(int32_t step, int32_t layer, const Batch& batch, RequestId request,
           const RoutingResult& routing, int32_t only_column,
           std::optional<ExpertFeed::Failure>& failure, const std::function<bool()>& stop,
           int32_t& n_waves);

  // Nanoseconds spent waiting for reads since the last call.
  [[nodiscard]] int64_t take_waited_ns() { return std::exchange(waited_ns_, 0); }

 private:
  Forward& forward_;
  ExpertFeed& feed_;
  Tracer& tracer_;
  const Hparams& hparams_;
  int64_t waited_ns_ = 0;
};

}  // namespace runahead
