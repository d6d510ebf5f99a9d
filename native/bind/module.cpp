// bind/module.cpp: the table of contents of engine._native.

#include <ggml.h>
#include <nanobind/nanobind.h>

#include "bind/bindings.h"

NB_MODULE(_native, m) {
  m.doc() = "Runahead's native engine: scheduling, caching and fetching experts, graphs on ggml.";
  // ggml and libllama log to the terminal; what a person should know is in our errors.
  ggml_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  runahead::bind_errors(m);
  runahead::bind_trace(m);
  runahead::bind_policy(m);
  runahead::bind_quantize(m);
  runahead::bind_files(m);
  runahead::bind_engine(m);
  runahead::bind_simulation(m);
}
