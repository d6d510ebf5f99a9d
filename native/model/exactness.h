// model/exactness.h
//
// Whether a column of a matrix product has the same bits whatever other columns are in the batch.
// Group composition depends on timing, so decode may only use products for which it does.
// ggml's kernels differ by type and batch size, so they are asked: a product with
// random weights of each kind is computed at every batch size once, and the fastest form that never
// differs is chosen.

#pragma once

#include <ggml.h>

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "model/device.h"

namespace runahead {

enum class ProductForm : uint8_t {
  kBatch,      // one ggml_mul_mat over all columns
  kOneExpert,  // ggml_mul_mat_id with a single "expert": no blocking over columns
  kColumns,    // one ggml_mul_mat per column: always exact, reads the weight once per column
};

class Exactness {
 public:
  // Columns of decode products never exceed `max_columns`.
  Exactness(Device& device, int32_t max_columns) : device_(device), max_columns_(max_columns) {}

  // For weights like `weight` (a leaf with memory: type, shape and buffer type decide).
  [[nodiscard]] ProductForm form(const ggml_tensor* weight);
  // Columns, up to n, for which ggml_mul_mat_id over all these pools is exact; at least 1.
  [[nodiscard]] int32_t exact_columns_of_pools(const std::vector<ggml_tensor*>& pools, int32_t n);

 private:
  using Kind = std::tuple<ggml_type, int64_t, int64_t, bool>;
  [[nodiscard]] static Kind kind_of(const ggml_tensor* weight);  // the last: whether it is repacked
  // The largest n <= max_columns_ such that batches of 1..n agree bit for bit.
  [[nodiscard]] int32_t probe(const ggml_tensor* weight, bool one_expert);

  Device& device_;
  int32_t max_columns_;
  std::map<Kind, ProductForm> forms_;
  std::map<Kind, int32_t> pools_;
};

}  // namespace runahead
