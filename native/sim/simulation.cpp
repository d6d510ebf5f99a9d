#include "sim/simulation.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "sim/belady.h"

namespace runahead {
namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorCode::kInvalid, "simulation: " + why);
}

SimulationOptions checked(const RoutingTrace& trace, SimulationOptions options) {
  trace.validate();
  options.cost.validate();
  const size_t n_class = options.slots.size();
  if (options.class_of_layer.empty()) {
    options.class_of_layer.assign(static_cast<size_t>(trace.n_layer), 0);
  }
  if (options.class_of_layer.size() != static_cast<size_t>(trace.n_layer)) {
    refuse("class_of_layer has " + std::to_string(options.class_of_layer.size()) +
           " entries, the trace has " + std::to_string(trace.n_layer) + " layers");
  }
  if (n_class == 0 || options.record_bytes.size() != n_class) {
    refuse("slots has " + std::to_string(n_class) + " classes and record_bytes " +
           std::to_string(options.record_bytes.size()) + "; both need one number per class");
  }
  for (size_t c = 0; c < n_class; ++c) {
    const auto n_layer = std::count(options.class_of_layer.begin(), options.class_of_layer.end(),
                                    static_cast<int32_t>(c));
    if (options.slots[c] < 0 || options.record_bytes[c] == 0) {
      refuse("class " + std::to_string(c) + " has " + std::to_string(options.slots[c]) +
             " slots of " + std::to_string(options.record_bytes[c]) + " bytes");
    }
    // More slots than experts are never used.
    options.slots[c] = static_cast<int32_t>(
        std::min<int64_t>(options.slots[c], int64_t{n_layer} * trace.n_expert));
  }
  for (const int32_t c : options.class_of_layer) {
    if (c < 0 || static_cast<size_t>(c) >= n_class) {
      refuse("class_of_layer names class " + std::to_string(c) + ", there are " +
             std::to_string(n_class));
    }
  }
  return options;
}

constexpr std::string_view kBelady = "belady";

ExpertCache cache_for(const RoutingTrace& trace, const SimulationOptions& options) {
  CacheGeometry geometry{trace.n_layer, trace.n_expert, options.class_of_layer, options.slots};
  if (options.policy.eviction == kBelady) {
    return {std::move(geometry), belady_eviction(trace)};
  }
  return {std::move(geometry), options.policy.eviction};
}

// What the Scheduler is told: it has no part in evicting, and knows no eviction of the simulator's.
Policy without_eviction(Policy policy) {
  policy.eviction = Policy{}.eviction;
  return policy;
}

}  // namespace

Policy parse_simulated_policy(std::string_view text) {
  // The fourth of five names joined by '/'.
  const size_t at = text.find("/" + std::string(kBelady) + "/");
  const bool is_fourth = at != text.npos && std::count(text.begin(), text.begin() + at, '/') == 2;
  if (!is_fourth) {
    return parse_policy(text);
  }
  std::string known(text);
  known.erase(at + 1, kBelady.size());
  Policy policy = parse_policy(known);
  policy.eviction = kBelady;
  return policy;
}

Simulation::Simulation(const RoutingTrace& trace, SimulationOptions options)
    : trace_(trace),
      options_(checked(trace, std::move(options))),
      cache_(cache_for(trace, options_)),
      scheduler_(without_eviction(options_.policy), cache_,
                 {trace.n_layer, trace.n_expert, trace.n_expert_used}),
      scores_(trace, scheduler_.score_needs()),
      link_(options_.cost),
      seen_in_group_(static_cast<size_t>(trace.n_expert), -1) {
  for (int32_t c = 0; c < cache_.n_class(); ++c) {
    cache_.set_capacity(c, options_.slots[static_cast<size_t>(c)]);
  }
  int32_t most = 0;
  for (int32_t step = 0; step < trace.n_step; ++step) {
    int32_t n = 0;
    for (int32_t request = 0; request < trace.n_request; ++request) {
      n += trace.is_active(step, request) ? 1 : 0;
    }
    most = std::max(most, n);
  }
  if (!scheduler_.can_start(most)) {
    refuse(
        std::to_string(most) + " requests that use " + std::to_string(trace.n_expert_used) +
        " experts need " + std::to_string(Scheduler::slots_needed(most, trace.n_expert_used)) +
        " slots in every class (or slots for all its experts); give more slots or fewer requests");
  }
}

SimulatedStep Simulation::step() {
  CHECK(!finished());
  SimulatedStep result;
  active_.clear();
  for (int32_t request = 0; request < trace_.n_request; ++request) {
    if (trace_.is_active(step_, request)) {
      active_.push_back(RequestId{request});
    }
  }
  result.n_request = static_cast<int32_t>(active_.size());
  result.groups_of_size.assign(active_.size() + 1, 0);
  const double begin_ms = now_ms_;
  const CacheCounters before = cache_.counters();
  const int32_t groups_before = n_group_;
  // Prefetches of the step before may still hold slots.
  while (!scheduler_.can_start(result.n_request)) {
    advance(result);
  }
  scheduler_.step_started(active_);
  const double n_request = result.n_request;
  if (!active_.empty()) {
    start_device(Timeline::What::kFront,
                 options_.cost.front_ms + options_.cost.front_request_ms * n_request, {});
  }
  while (!scheduler_.step_finished()) {
    start_reads(result);
    if (!device_.busy) {
      if (std::optional<Group> group = scheduler_.next_group()) {
        ++result.groups_of_size[group->requests.size()];
        const double ms = group_ms(*group);
        start_device(Timeline::What::kGroup, ms, std::move(*group));
      }
    }
    advance(result);
  }
  if (!active_.empty()) {
    start_device(Timeline::What::kHead,
                 options_.cost.head_ms + options_.cost.head_request_ms * n_request, {});
    while (device_.busy) {
      start_reads(result);
      advance(result);
    }
  }
  result.step_ms = now_ms_ - begin_ms;
  const CacheCounters& after = cache_.counters();
  result.n_prefetched = static_cast<int32_t>(after.prefetched - before.prefetched);
  result.n_wasted =
      result.n_prefetched - static_cast<int32_t>(after.prefetch_used - before.prefetch_used);
  if (options_.record_timeline) {
    timeline_.steps.push_back(
        {begin_ms, now_ms_, step_, result.n_request, n_group_ - groups_before});
  }
  ++step_;
  return result;
}

std::vector<SimulatedStep> Simulation::run() {
  std::vector<SimulatedStep> steps;
  while (!finished()) {
    steps.push_back(step());
  }
  return steps;
}

void Simulation::start_device(Timeline::What what, double ms, Group group) {
  device_ = {true, what, now_ms_, ms, std::move(group)};
}

void Simulation::start_reads(SimulatedStep& result) {
  while (link_.has_free_reader()) {
    const std::optional<Fetch> fetch = scheduler_.next_fetch();
    if (!fetch) {
      return;
    }
    ++result.n_fetched;
    link_.start(*fetch, record_bytes(fetch->id), step_, now_ms_);
  }
}

uint64_t Simulation::record_bytes(ExpertId id) const {
  return options_.record_bytes[static_cast<size_t>(cache_.class_of(id))];
}

void Simulation::advance(SimulatedStep& result) {
  CHECK(device_.busy || link_.is_busy());  // else the step could never end
  // Until anything changes; so neither slowdown nor rates change on the way.
  const double slowdown = link_.is_transferring() ? 1 + options_.cost.interference : 1;
  const double link_ms = link_.next_change_ms();
  const double ms = device_.busy ? std::min(device_.left_ms * slowdown, link_ms) : link_ms;
  result.compute_ms += device_.busy ? ms : 0;
  result.link_ms += link_.is_busy() ? ms : 0;
  result.both_ms += device_.busy && link_.is_busy() ? ms : 0;
  now_ms_ += ms;
  ended_.clear();
  link_.advance(ms, ended_);
  for (const VirtualLink::Read& read : ended_) {
    const Fetch& fetch = read.fetch;
    scheduler_.fetch_finished(fetch.id);
    if (options_.record_timeline) {
      timeline_.intervals.push_back({Timeline::What::kFetch,
                                     read.reader + 1,
                                     read.begin_ms,
                                     now_ms_,
                                     read.step,
                                     fetch.id.layer,
                                     fetch.id.expert,
                                     fetch.prefetch,
                                     to_int(fetch.slot),
                                     record_bytes(fetch.id),
                                     {to_int(fetch.request)}});
    }
  }
  if (device_.busy) {
    device_.left_ms -= ms / slowdown;
    if (device_.left_ms <= kSameMomentMs) {
      finish_device(result);
    }
  }
}

void Simulation::finish_device(SimulatedStep& result) {
  device_.busy = false;
  const Group& group = device_.group;
  if (options_.record_timeline) {
    Timeline::Interval interval{device_.what, 0, device_.begin_ms, now_ms_, step_, group.layer};
    const bool all = device_.what != Timeline::What::kGroup;
    for (const RequestId request : all ? active_ : group.requests) {
      interval.requests.push_back(to_int(request));
    }
    timeline_.intervals.push_back(std::move(interval));
  }
  if (device_.what == Timeline::What::kFront) {
    route(active_, 0, result);
  } else if (device_.what == Timeline::What::kGroup) {
    const bool last_layer = group.layer == trace_.n_layer - 1;
    scheduler_.group_finished(group, last_layer);
    if (!last_layer) {
      route(group.requests, group.layer + 1, result);
    }
  }
}

void Simulation::route(std::span<const RequestId> requests, int32_t layer, SimulatedStep& result) {
  const std::span<const RouterScores> scores = scores_.read(step_, requests, layer);
  routed_.clear();
  for (size_t i = 0; i < requests.size(); ++i) {
    routed_.push_back({requests[i], trace_.at(step_, to_int(requests[i]), layer), scores[i]});
  }
  const std::span<const IssuedExpert> issued = scheduler_.routed(layer, routed_);
  for (size_t i = 0; i < issued.size(); ++i) {
    const Outcome outcome = issued[i].acquired.outcome;
    result.n_hit += outcome == Outcome::kHit ? 1 : 0;
    result.n_joined += outcome == Outcome::kJoined ? 1 : 0;
    if (options_.record_timeline) {
      const RequestId request = requests[i / static_cast<size_t>(trace_.n_expert_used)];
      timeline_.decisions.push_back({now_ms_, step_, to_int(request), issued[i]});
    }
  }
}

double Simulation::group_ms(const Group& group) {
  ++n_group_;
  int32_t n_distinct = 0;
  for (const RequestId request : group.requests) {
    for (const int32_t expert : trace_.at(step_, to_int(request), group.layer)) {
      int32_t& seen = seen_in_group_[static_cast<size_t>(expert)];
      n_distinct += seen == n_group_ ? 0 : 1;
      seen = n_group_;
    }
  }
  return options_.cost.group_ms + options_.cost.expert_ms * n_distinct +
         options_.cost.job_ms * static_cast<double>(group.requests.size());
}

}  // namespace runahead
