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

// As many rows as the whole has, or fewer that the same numbers divide: repacked kernels go by
// that.
int64_t probe_rows(int64_t n_out) {
  return n_out < kProbeRows + 64 ? n_out : kProbeRows + n_out % 64;
}

std::vector<float> normal_values(int64_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(n));
  std::generate(values.begin(), values.end(), [&] { return normal(random); });
  return values;
}

// The quantisers of these first fill tables, for up to ten seconds.
bool is_slow_to_quantise(ggml_type type) {
  switch (type) {
    case GGML_TYPE_IQ1_S:
    case GGML_TYPE_IQ1_M:
    case GGML_TYPE_IQ2_XXS:
    case GGML_TYPE_IQ2_XS:
    case GGML_TYPE_IQ2_S:
    case GGML_TYPE_IQ3_XXS:
    case GGML_TYPE_IQ3_S: return true;
    default: return false;
  }
}

std::vector<std::byte> random_weights(ggml_type type, int64_t n_in, int64_t n_out) {
  std::vector<std::byte> bytes(ggml_row_size(type, n_in) * static_cast<size_t>(n_out));
  if (is_slow_to_quantise(type)) {
    // Any bytes are weights, but a scale in half precision must be finite: with this bit clear it
    // is.
    std::mt19937 random(2);
    std::generate(bytes.begin(), bytes.end(),
                  [&] { return static_cast<std::byte>(random() & 0xbfU); });
    return bytes;
  }
  const std::vector<float> values = normal_values(n_in * n_out, 2);
  ggml_quantize_chunk(type, values.data(), bytes.data(), 0, n_out, n_in, nullptr);
  return bytes;
}

// Random weights of one kind. The model's own will not do: zeros (a slot without an expert) agree
// in every form, and slots are written by readers at any time.
class Sample {
 public:
  Sample(Device& device, ggml_type type, int64_t n_in, int64_t n_out, bool repacked) {
    ctx_.reset(ggml_init({2 * ggml_tensor_overhead(), nullptr, true}));
    tensor_ = ggml_new_tensor_2d(ctx_.get(), type, n_in, n_out);
    buffer_.reset(ggml_backend_alloc_ctx_tensors_from_buft(
        ctx_.get(), repacked ? device.repacked_type() : device.buffer_type()));
    if (buffer_ == nullptr) {
      throw Error(ErrorCode::kNoMemory, "no memory to compare the kernels of weights");
    }
    ggml_backend_buffer_set_usage(buffer_.get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    const std::vector<std::byte> bytes = random_weights(type, n_in, n_out);
    ggml_backend_tensor_set(tensor_, bytes.data(), 0, bytes.size());
  }
  [[nodiscard]] const ggml_tensor* tensor() const { return tensor_; }

 private:
  ggml_context_ptr ctx_;
  ggml_backend_buffer_ptr buffer_;
  ggml_tensor* tensor_ = nullptr;
};

// Y = W X for the first `n` columns of x.
std::vector<float> product(Device& device, const ggml_tensor* weight, const float* x, int64_t n,
                           bool one_expert) {
  Graph graph(16);
  ggml_tensor* w = graph.fixed(weight, 0, weight->ne[0], weight->ne[1]);
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
  ggml_backend_tensor_set(columns, x, 0, ggml_nbytes(columns));
  if (ids != nullptr) {
    const std::vector<int32_t> zeros(static_cast<size_t>(n), 0);
    ggml_backend_tensor_set(ids, zeros.data(), 0, ggml_nbytes(ids));
  }
  device.compute(graph.cgraph());
  std::vector<float> result(static_cast<size_t>(weight->ne[1] * n));
  ggml_backend_tensor_get(y, result.data(), 0, ggml_nbytes(y));
  return result;
}

}  // namespace

Exactness::Kind Exactness::kind_of(const ggml_tensor* weight) {
  return {weight->type, weight->ne[0], weight->ne[1], weight->extra != nullptr};
}

int32_t Exactness::probe(const ggml_tensor* weight, bool one_expert) {
  const auto [type, n_in, n_out, repacked] = kind_of(weight);
  const Sample sample(device_, type, n_in, probe_rows(n_out), repacked);
  const auto rows = static_cast<size_t>(probe_rows(n_out));
  const std::vector<float> x = normal_values(n_in * max_columns_, 1);
  std::vector<float> alone;
  for (int32_t column = 0; column < max_columns_; ++column) {
    const std::vector<float> y =
        product(device_, sample.tensor(), x.data() + column * n_in, 1, one_expert);
    alone.insert(alone.end(), y.begin(), y.end());
  }
  for (int32_t n = 2; n <= max_columns_; ++n) {
    const std::vector<float> batch = product(device_, sample.tensor(), x.data(), n, one_expert);
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
