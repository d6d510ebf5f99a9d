// A scheduler with its cache, driven by hand: what tests of the scheduler do in a line each.

#pragma once

#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "sched/scheduler.h"

#undef CHECK  // doctest's from here on
#include <doctest/doctest.h>

namespace runahead::test {

inline constexpr RequestId kA{10}, kB{11}, kC{12};

// A request that was routed by itself.
inline std::span<const IssuedExpert> route_alone(Scheduler& scheduler, RequestId request,
                                                 int32_t layer, std::span<const int32_t> experts,
                                                 const RouterScores& scores = {}) {
  const RoutedRequest routed{request, experts, scores};
  return scheduler.routed(layer, {&routed, 1});
}

struct Bench {
  ExpertCache cache;
  Scheduler scheduler;

  explicit Bench(const char* policy, int32_t capacity, int32_t n_layer = 4, int32_t n_expert = 8)
      : cache({n_layer, n_expert, std::vector<int32_t>(static_cast<size_t>(n_layer), 0), {32}},
              parse_policy(policy).eviction),
        scheduler(parse_policy(policy), cache, {n_layer, n_expert, 2}) {
    cache.set_capacity(0, capacity);
  }

  void start(std::vector<RequestId> requests) { scheduler.step_started(requests); }
  void route(RequestId request, int32_t layer, std::vector<int32_t> experts) {
    route_alone(scheduler, request, layer, experts);
  }
  // Of requests that were routed together.
  void route(int32_t layer, const std::vector<std::pair<RequestId, std::vector<int32_t>>>& jobs) {
    std::vector<RoutedRequest> routed;
    for (const auto& [request, experts] : jobs) {
      routed.push_back({request, experts});
    }
    scheduler.routed(layer, routed);
  }
  // The next fetch as layer * 100 + expert, -1: none.
  int32_t fetch() {
    const auto fetch = scheduler.next_fetch();
    return fetch ? fetch->id.layer * 100 + fetch->id.expert : -1;
  }
  // Reads everything that is queued.
  void fetch_all() {
    while (const auto fetch = scheduler.next_fetch()) {
      scheduler.fetch_finished(fetch->id);
    }
  }
  // Runs `request` alone through a layer.
  void pass(RequestId request, int32_t layer, std::vector<int32_t> experts) {
    route(request, layer, std::move(experts));
    fetch_all();
    const auto group = scheduler.next_group();
    REQUIRE(group.has_value());
    REQUIRE(group->requests == std::vector<RequestId>{request});
    scheduler.group_finished(*group, false);
  }
  JobStatus status(RequestId request) {
    for (const JobStatus& row : scheduler.progress_table()) {
      if (row.request == request) {
        return row;
      }
    }
    FAIL("not in the step");
    return {};
  }
  int32_t pinned() {
    int32_t n = 0;
    for (int32_t layer = 0; layer < cache.geometry().n_layer; ++layer) {
      for (int32_t expert = 0; expert < cache.geometry().n_expert; ++expert) {
        n += cache.pins({layer, expert});
      }
    }
    return n;
  }
};

using Requests = std::vector<RequestId>;

}  // namespace runahead::test
