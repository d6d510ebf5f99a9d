#include "model/exactness.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "base/error.h"
#include "model/graph.h"

namespace runahead {
namespace {

// Enough rows that kernels choose as they do for the whole matrix.
constexpr int64_t kProbeRows = 256;

// Y = W X for the first `n` columns of x, [rows, n].
std::vector<float> product(Device& device, const ggml_tensor* weight, const std::vector<float>& x,
                           int64_t n, bool one_expert) {
  const int64_t rows = std::min<int64_t>(weight->ne[1], kProbeRows);
  Graph graph(16);
  ggml_tensor* w = graph.fixed(weight, 0, weight->ne[0], rows);
  ggml_tensor* columns = graph.input(GGML_TYPE_F32, weight->ne[0], n);
  ggml_tensor* y = nullptr;
  ggml_tensor* ids = nullptr;
  if (one_expert) {
    ids = graph.input(GGML_TYPE_I32, 1, n);
    y = ggml_mul_mat_id(graph.ctx(), w, ggml_reshape_3d(graph.ctx(), columns, weight->ne[0], 1, n),
                        ids);
  } else {
    y = ggml_mul_mat(graph.ctx(), w, columns);
  }
  graph.output(y);
  graph.allocate(device.buffer_type());
  ggml_backend_tensor_set(columns, x.data(), 0, ggml_nbytes(columns));
  if (ids != nullptr) {
    const std::vector<int32_t> zeros(static_cast<size_t>(n), 0);
    ggml_backend_tensor_set(ids, zeros.data(), 0, ggml_nbytes(ids));
  }
  device.compute(graph.cgraph());
  std::vector<float> result(static_cast<size_t>(rows * n));
  ggml_backend_tensor_get(y, result.data(), 0, ggml_nbytes(y));
  return result;
}

}  // namespace

Exactness::Kind Exactness::kind_of(const ggml_tensor* weight) {
  return {weight->type, weight->ne[0], weight->ne[1], weight->extra != nullptr};
}

int32_t Exactness::probe(const ggml_tensor* weight, bool one_expert) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<size_t>(weight->ne[0] * max_columns_));
  std::generate(x.begin(), x.end(), [&] { return normal(random); });
  const auto rows = static_cast<size_t>(std::min<int64_t>(weight->ne[1], kProbeRows));
  const std::vector<float> all = product(device_, weight, x, max_columns_, one_expert);
  std::vector<float> alone;
  for (int32_t column = 0; column < max_columns_; ++column) {
    const std::vector<float> one(x.begin() + column * weight->ne[0],
                                 x.begin() + (column + 1) * weight->ne[0]);
    const std::vector<float> y = product(device_, weight, one, 1, one_expert);
    alone.insert(alone.end(), y.begin(), y.end());
  }
  for (int32_t n = 2; n <= max_columns_; ++n) {
    const std::vector<float> batch =
        n == max_columns_ ? all : product(device_, weight, x, n, one_expert);
    if (std::memcmp(batch.data(), alone.data(), rows * static_cast<size_t>(n) * sizeof(float)) !=
        0) {
      return n - 1;
    }
  }
  return max_columns_;
}

ProductForm Exactness::form(const ggml_tensor* weight) {
  const auto [entry, fresh] = forms_.try_emplace(kind_of(weight), ProductForm::kColumns);
  if (fresh) {
    if (probe(weight, false) >= max_columns_) {
      entry->second = ProductForm::kBatch;
    } else if (probe(weight, true) >= max_columns_) {
      entry->second = ProductForm::kOneExpert;
    }
  }
  return entry->second;
}

int32_t Exactness::exact_columns_of_pools(const std::vector<ggml_tensor*>& pools, int32_t n) {
  for (const ggml_tensor* pool : pools) {
    const auto [entry, fresh] = pools_.try_emplace(kind_of(pool), 1);
    if (fresh) {
      entry->second = probe(pool, true);
    }
    n = std::min(n, entry->second);
  }
  return n;
}

}  // namespace runahead
