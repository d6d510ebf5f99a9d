// bind/bindings.h: one function per part of the Python module; each lives in the file of the same
// name.

#pragma once

#include <nanobind/nanobind.h>

namespace runahead {

void bind_errors(nanobind::module_& m);      // NativeError
void bind_quantize(nanobind::module_& m);    // quantize
void bind_files(nanobind::module_& m);       // inspect, write_pack, check_pack
void bind_policy(nanobind::module_& m);      // presets, parse_policy
void bind_trace(nanobind::module_& m);       // RECORD_DTYPE, EVENTS
void bind_engine(nanobind::module_& m);      // Engine
void bind_simulation(nanobind::module_& m);  // simulate, parse_simulated_policy

}  // namespace runahead
