// bind/quantize.cpp: ggml's own quantisation, for the models that `make-model` writes.

#include <ggml.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>
#include <vector>

#include "base/error.h"
#include "bind/arrays.h"
#include "bind/bindings.h"

namespace nb = nanobind;

namespace runahead {
namespace {

ggml_type type_named(const std::string& name) {
  for (int t = 0; t < GGML_TYPE_COUNT; ++t) {
    const auto type = static_cast<ggml_type>(t);
    const char* known = ggml_type_name(type);
    if (known != nullptr && name == known) {
      return type;
    }
  }
  throw Error(ErrorCode::kInvalid, "unknown tensor type '" + name + "'");
}

using Rows = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

Array<uint8_t, 2> quantize(const std::string& type_name, Rows rows) {
  const ggml_type type = type_named(type_name);
  const auto n_rows = static_cast<int64_t>(rows.shape(0));
  const auto n_per_row = static_cast<int64_t>(rows.shape(1));
  if (n_per_row % ggml_blck_size(type) != 0) {
    throw Error(ErrorCode::kInvalid,
                "a row of " + std::to_string(n_per_row) + " does not fill blocks of " +
                    std::to_string(ggml_blck_size(type)) + " (" + type_name + ")");
  }
  if (ggml_quantize_requires_imatrix(type)) {
    throw Error(ErrorCode::kUnsupported, type_name + " needs an importance matrix");
  }
  const size_t row_bytes = ggml_row_size(type, n_per_row);
  std::vector<uint8_t> bytes(row_bytes * static_cast<size_t>(n_rows));
  {
    nb::gil_scoped_release release;
    ggml_quantize_chunk(type, rows.data(), bytes.data(), 0, n_rows, n_per_row, nullptr);
  }
  return array_of(std::move(bytes), {static_cast<size_t>(n_rows), row_bytes});
}

}  // namespace

void bind_quantize(nb::module_& m) {
  m.def("quantize", &quantize, nb::arg("type"), nb::arg("rows"),
        "Quantise float32 rows [n_rows, n_per_row] to bytes [n_rows, row_bytes] of a ggml type.");
}

}  // namespace runahead
