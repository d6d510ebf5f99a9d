// sim/simulation.h
//
// Simulation runs the engine's Scheduler and ExpertCache on a virtual clock: a routing trace and a
// machine's cost model in, step times out. What is simulated is the code that ships. The same input
// gives the same output, to the last bit.
//
// The cache stays warm from step to step. One thread.

#pragma once

#include <cstdint>
#include <vector>

#include "cache/expert_cache.h"
#include "policy/policy.h"
#include "sched/scheduler.h"
#include "sim/cost_model.h"
#include "sim/routing_trace.h"
#include "sim/virtual_link.h"

namespace runahead {

struct SimulationOptions {
  Policy policy;
  CostModel cost;
  std::vector<int32_t> class_of_layer;  // [n_layer] of the trace; empty: one class
  std::vector<int32_t> slots;           // [n_class]
  std::vector<uint64_t> record_bytes;   // [n_class] of one expert
  bool record_timeline = false;
};

struct SimulatedStep {
  double step_ms = 0;
  double compute_ms = 0;  // the device is busy
  double link_ms = 0;     // some read is in flight
  double both_ms = 0;
  int32_t n_request = 0;
  int32_t n_fetched = 0;
  int32_t n_hit = 0;
  int32_t n_joined = 0;
  std::vector<int32_t> groups_of_size;  // [n_request + 1]
};

struct Timeline {
  enum class What : uint8_t { kFront, kGroup, kHead, kFetch };
  struct Interval {
    What what;
    int32_t lane;     // 0: the device, 1 ..: the readers
    double begin_ms;  // since the first step began
    double end_ms;
    int32_t step;
    int32_t layer = -1;
    int32_t expert = -1;  // kFetch
    // kGroup: its requests; kFetch: the first that needed the expert.
    std::vector<int32_t> requests = {};
  };
  struct Decision {  // what the cache did for one expert of one job
    double at_ms;
    int32_t step;
    int32_t request;
    IssuedExpert issued;
  };
  std::vector<Interval> intervals;  // by their ends
  std::vector<Decision> decisions;
};

class Simulation {
 public:
  // `trace` outlives the simulation. Throws Error(kInvalid) when trace, costs, policy or class
  // lists do not fit, or when a class has fewer slots than the deadlock rule needs.
  Simulation(const RoutingTrace& trace, SimulationOptions options);

  // Runs the next step of the trace. REQUIRES: !finished().
  SimulatedStep step();
  [[nodiscard]] bool finished() const { return step_ == trace_.n_step; }
  // All steps that are left.
  std::vector<SimulatedStep> run();

  [[nodiscard]] const Timeline& timeline() const { return timeline_; }
  [[nodiscard]] const ExpertCache& cache() const { return cache_; }

 private:
  struct Device {
    bool busy = false;
    Timeline::What what = Timeline::What::kFront;
    double begin_ms = 0;
    double left_ms = 0;
    Group group;
  };

  void start_device(Timeline::What what, double ms, Group group);
  void start_reads();
  void advance(SimulatedStep& result);
  void finish_device(SimulatedStep& result);
  void route(RequestId request, int32_t layer, SimulatedStep& result);
  [[nodiscard]] double group_ms(const Group& group);

  const RoutingTrace& trace_;
  SimulationOptions options_;
  ExpertCache cache_;
  Scheduler scheduler_;
  VirtualLink link_;
  Device device_;
  Timeline timeline_;
  double now_ms_ = 0;
  int32_t step_ = 0;
  std::vector<RequestId> active_;  // requests of the step
  std::vector<VirtualLink::Read> ended_;
  std::vector<int32_t>
      seen_in_group_;  // [n_expert] the number of the last group that used the expert
  int32_t n_group_ = 0;
};

}  // namespace runahead
