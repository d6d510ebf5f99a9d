// bind/bindings.h: one function per part of the Python module; each lives in the file of the same name.

#pragma once

#include <nanobind/nanobind.h>

namespace runahead {

void bind_errors(nanobind::module_& m);    // NativeError
void bind_quantize(nanobind::module_& m);  // quantize, type names

}  // namespace runahead
