// bind/simulation.cpp: sim/ -> _native.simulate. The GIL is released while it runs; scores are read
// where numpy keeps them, everything else is copied before.

#include "sim/simulation.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "bind/arrays.h"
#include "bind/bindings.h"

namespace nb = nanobind;

namespace runahead {
namespace {

using Experts = nb::ndarray<const int16_t, nb::ndim<4>, nb::c_contig, nb::device::cpu>;
template <size_t n_dim>
using Scores = nb::ndarray<nb::ro, nb::ndim<n_dim>, nb::c_contig, nb::device::cpu>;

int32_t size_of(const Experts& experts, size_t dim) {
  return static_cast<int32_t>(experts.shape(dim));
}

// Keeps the array that a ScoreArray looks into.
template <size_t n_dim>
struct Held {
  std::optional<Scores<n_dim>> array;

  // `scores` may be None.
  Held(const nb::object& scores, const char* name, const Experts& experts) {
    if (scores.is_none()) {
      return;
    }
    Scores<n_dim> found;
    bool fits = nb::try_cast(scores, found, false);
    for (size_t dim = 0; fits && dim < 3; ++dim) {
      fits = found.shape(dim) == experts.shape(dim);
    }
    if (!fits) {
      throw Error(ErrorCode::kInvalid, std::string("simulate: ") + name +
                                           " is no C-contiguous array of " + std::to_string(n_dim) +
                                           " dimensions whose first three are the experts'");
    }
    array = found;
  }

  [[nodiscard]] ScoreArray view() const {
    if (!array) {
      return {};
    }
    if (array->dtype() == nb::dtype<float>()) {
      return ScoreArray(std::span(static_cast<const float*>(array->data()), array->size()));
    }
    const nb::dlpack::dtype half{static_cast<uint8_t>(nb::dlpack::dtype_code::Float), 16, 1};
    if (array->dtype() == half) {
      return ScoreArray(std::span(static_cast<const uint16_t*>(array->data()), array->size()));
    }
    throw Error(ErrorCode::kInvalid, "simulate: scores must be float16 or float32");
  }
};

// The column `field` of all steps.
template <class T, class Field>
Array<T, 1> column(const std::vector<SimulatedStep>& steps, Field field) {
  std::vector<T> values;
  for (const SimulatedStep& step : steps) {
    values.push_back(static_cast<T>(step.*field));
  }
  return array_of(std::move(values), {steps.size()});
}

Array<int32_t, 2> group_sizes(const std::vector<SimulatedStep>& steps, size_t n_request) {
  std::vector<int32_t> counts(steps.size() * (n_request + 1));
  for (size_t i = 0; i < steps.size(); ++i) {
    std::copy(steps[i].groups_of_size.begin(), steps[i].groups_of_size.end(),
              counts.begin() + static_cast<std::ptrdiff_t>(i * (n_request + 1)));
  }
  return array_of(std::move(counts), {steps.size(), n_request + 1});
}

nb::dict simulate(const Experts& experts, int32_t n_expert, const nb::object& probabilities,
                  const nb::object& lookahead, const std::string& policy, int32_t slots,
                  uint64_t record_bytes, double front_ms, double front_request_ms, double group_ms,
                  double expert_ms, double job_ms, double head_ms, double head_request_ms,
                  double link_bytes_per_s, bool link_in_order, double link_latency_ms,
                  int32_t n_readers, double interference, bool timeline) {
  RoutingTrace trace;
  trace.n_step = size_of(experts, 0);
  trace.n_request = size_of(experts, 1);
  trace.n_layer = size_of(experts, 2);
  trace.n_expert = n_expert;
  trace.n_expert_used = size_of(experts, 3);
  trace.experts.assign(experts.data(), experts.data() + experts.size());
  const Held<4> held_probabilities(probabilities, "probabilities", experts);
  const Held<5> held_lookahead(lookahead, "lookahead", experts);
  trace.probabilities = held_probabilities.view();
  trace.lookahead = held_lookahead.view();
  trace.n_lookahead =
      held_lookahead.array ? static_cast<int32_t>(held_lookahead.array->shape(3)) : 0;
  SimulationOptions options;
  options.policy = parse_simulated_policy(policy);
  options.cost = {front_ms,      front_request_ms, group_ms,        expert_ms,
                  job_ms,        head_ms,          head_request_ms, link_bytes_per_s,
                  link_in_order, link_latency_ms,  n_readers,       interference};
  options.slots = {slots};
  options.record_bytes = {record_bytes};
  options.record_timeline = timeline;

  std::vector<SimulatedStep> steps;
  std::vector<Record> records;
  {
    const nb::gil_scoped_release release;
    Simulation simulation(trace, std::move(options));
    steps = simulation.run();
    records = to_records(simulation.timeline(), n_expert);
  }
  nb::dict out;
  out["step_ms"] = column<double>(steps, &SimulatedStep::step_ms);
  out["compute_ms"] = column<double>(steps, &SimulatedStep::compute_ms);
  out["link_ms"] = column<double>(steps, &SimulatedStep::link_ms);
  out["both_ms"] = column<double>(steps, &SimulatedStep::both_ms);
  out["requests"] = column<int32_t>(steps, &SimulatedStep::n_request);
  out["fetched"] = column<int32_t>(steps, &SimulatedStep::n_fetched);
  out["prefetched"] = column<int32_t>(steps, &SimulatedStep::n_prefetched);
  out["wasted"] = column<int32_t>(steps, &SimulatedStep::n_wasted);
  out["hit"] = column<int32_t>(steps, &SimulatedStep::n_hit);
  out["joined"] = column<int32_t>(steps, &SimulatedStep::n_joined);
  out["group_sizes"] = group_sizes(steps, static_cast<size_t>(trace.n_request));
  out["records"] = nb::bytes(records.data(), records.size() * sizeof(Record));
  return out;
}

}  // namespace

void bind_simulation(nb::module_& m) {
  m.def("simulate", &simulate, nb::arg("experts"), nb::kw_only(), nb::arg("n_expert"),
        nb::arg("probabilities") = nb::none(), nb::arg("lookahead") = nb::none(), nb::arg("policy"),
        nb::arg("slots"), nb::arg("record_bytes"), nb::arg("front_ms") = 0.0,
        nb::arg("front_request_ms") = 0.0, nb::arg("group_ms") = 0.0, nb::arg("expert_ms") = 0.0,
        nb::arg("job_ms") = 0.0, nb::arg("head_ms") = 0.0, nb::arg("head_request_ms") = 0.0,
        nb::arg("link_bytes_per_s"), nb::arg("link_in_order") = false,
        nb::arg("link_latency_ms") = 0.0, nb::arg("n_readers") = 8, nb::arg("interference") = 0.0,
        nb::arg("timeline") = false, "Run a routing trace on a virtual machine.");
  m.def(
      "parse_simulated_policy",
      [](const std::string& text) { return to_string(parse_simulated_policy(text)); },
      nb::arg("text"), "As parse_policy; the eviction may also be 'belady'.");
}

}  // namespace runahead
