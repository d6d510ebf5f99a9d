// bind/module.cpp: the table of contents of engine._native.

#include <nanobind/nanobind.h>

#include "bind/bindings.h"

NB_MODULE(_native, m) {
  m.doc() = "Runahead's native engine: scheduling, caching and fetching experts, graphs on ggml.";
  runahead::bind_errors(m);
  runahead::bind_quantize(m);
}
