#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <vector>

#include "bind/bindings.h"
#include "trace/record.h"

namespace nb = nanobind;

namespace runahead {

void bind_trace(nb::module_& m) {
  // Field by field as in trace/record.h; the size check there and here keeps them together.
  const std::vector<std::pair<std::string, std::string>> fields{
      {"begin_ns", "<i8"}, {"end_ns", "<i8"}, {"step", "<i4"}, {"request", "<i4"},
      {"layer", "<i4"},    {"expert", "<i4"}, {"a", "<i8"},    {"b", "<i8"},
      {"event", "|u1"},    {"lane", "|u1"},   {"part", "<u2"}, {"reserved", "<u4"}};
  static_assert(sizeof(Record) == 8 * 2 + 4 * 4 + 8 * 2 + 1 + 1 + 2 + 4);
  m.attr("RECORD_DTYPE") = fields;
  m.attr("EVENTS") = std::vector<std::string>{
      "step", "front", "group",   "head", "sample",    "fetch",   "prefetch", "hit",  "join",
      "miss", "evict", "prefill", "wave", "scheduler", "request", "resize",   "fault"};
}

}  // namespace runahead
