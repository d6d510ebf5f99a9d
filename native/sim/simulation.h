// sim/simulation.h
//
// Simulation runs the engine's Scheduler and ExpertCache on a virtual clock: a routing trace and a
// machine's cost model in, step times out. What is simulated is the code that ships. The same input
// gives the same output, to the last bit.
//
// The cache stays warm from step to step. One thread.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cache/expert_cache.h"
#include "policy/policy.h"
#include "sched/scheduler.h"
#include "sim/cost_model.h"
#include "sim/routing_trace.h"
#include "sim/score_reader.h"
#include "sim/timeline.h"
#include "sim/virtual_link.h"

namespace runahead {

// As parse_policy(), but the eviction may also be "belady", the optimum that knows the future.
[[nodiscard]] Policy parse_simulated_policy(std::string_view text);

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
  int32_t n_fetched = 0;  // reads begun, prefetches among them
  int32_t n_prefetched = 0;
  int32_t n_wasted = 0;  // of these prefetches: not used in this step
  int32_t n_hit = 0;
  int32_t n_joined = 0;
  std::vector<int32_t> groups_of_size;  // [n_request + 1]
};

class Simulation {
 public:
  // `trace` outlives the simulation. Throws Error(kInvalid) when trace, costs, policy or class
  // lists do not fit, or when a class has fewer slots than the deadlock rule needs.
  Simulation(const RoutingTrace& trace, SimulationOptions options);

  // Runs the next step of the trace. Throws Error(kInvalid) for router scores that are none; the
  // simulation is then of no more use. REQUIRES: !finished().
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
    double left_ms = 0;  // when nothing disturbs it
    Group group;
  };

  // The device works `ms` when nothing disturbs it.
  void start_device(Timeline::What what, double ms, Group group);
  void start_reads(SimulatedStep& result);
  [[nodiscard]] uint64_t record_bytes(ExpertId id) const;
  // Time passes until something ends or begins to transfer. REQUIRES: device or link is busy.
  void advance(SimulatedStep& result);
  void finish_device(SimulatedStep& result);
  void route(std::span<const RequestId> requests, int32_t layer, SimulatedStep& result);
  [[nodiscard]] double group_ms(const Group& group);

  const RoutingTrace& trace_;
  SimulationOptions options_;
  ExpertCache cache_;
  Scheduler scheduler_;
  ScoreReader scores_;
  VirtualLink link_;
  Device device_;
  Timeline timeline_;
  double now_ms_ = 0;
  int32_t step_ = 0;
  std::vector<RequestId> active_;  // requests of the step
  std::vector<RoutedRequest> routed_;
  std::vector<VirtualLink::Read> ended_;
  std::vector<int32_t>
      seen_in_group_;    // [n_expert] the number of the last group that used the expert
  int32_t n_group_ = 0;  // of all steps
};

}  // namespace runahead
