#include "policy/policy.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind/bindings.h"

namespace nb = nanobind;

namespace runahead {

void bind_policy(nb::module_& m) {
  m.attr("POLICY_REVISION") = kPolicyRevision;
  m.def(
      "presets",
      [] {
        std::vector<std::pair<std::string, std::string>> named;
        for (const auto& [name, policy] : presets()) {
          named.emplace_back(name, to_string(policy));
        }
        return named;
      },
      "(name, canonical policy text) of every preset.");
  m.def(
      "parse_policy", [](const std::string& text) { return to_string(parse_policy(text)); },
      nb::arg("text"), "The canonical five names of a preset or policy text.");
}

}  // namespace runahead
