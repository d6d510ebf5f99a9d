// sim/timeline.h
//
// Timeline is everything that happened in a Simulation, in virtual time; to_records() says it in
// the form of an engine's trace, for those who draw and count that.

#pragma once

#include <cstdint>
#include <vector>

#include "sched/scheduler.h"
#include "trace/record.h"

namespace runahead {

struct Timeline {
  enum class What : uint8_t { kFront, kGroup, kHead, kFetch };
  struct Interval {
    What what;
    int32_t lane;     // 0: the device, 1 ..: the readers
    double begin_ms;  // since the first step began
    double end_ms;
    int32_t step;  // in which it began
    int32_t layer = -1;
    int32_t expert = -1;  // kFetch, as all that follow
    bool prefetch = false;
    int32_t slot = -1;
    uint64_t bytes = 0;
    // kGroup: its requests; kFetch: the first that needed the expert.
    std::vector<int32_t> requests = {};
  };
  struct Decision {  // what the cache did for one expert of one job
    double at_ms;
    int32_t step;
    int32_t request;
    IssuedExpert issued;
  };
  struct Step {
    double begin_ms;
    double end_ms;
    int32_t step;
    int32_t n_request;
    int32_t n_group;
  };
  std::vector<Interval> intervals;  // by their ends
  std::vector<Decision> decisions;
  std::vector<Step> steps;
};

// The trace that an engine would have written: kStep, kFront, kGroup, kHead, kFetch, kPrefetch,
// kHit, kJoin, kMiss. `n_expert` is the number per layer.
[[nodiscard]] std::vector<Record> to_records(const Timeline& timeline, int32_t n_expert);

}  // namespace runahead
