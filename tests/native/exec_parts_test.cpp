// Parts of model/ and exec/ on their own: which products are exact, and KV caches that grow and
// shrink.

#include <cstring>

#include "exec_run.h"
#include "model/exactness.h"
#include "store/repack.h"

namespace runahead::test {
namespace {

// A matrix of one type, with zeros for weights, in plain or repacked memory.
struct Matrix {
  ggml_context_ptr ctx;
  ggml_backend_buffer_ptr buffer;
  ggml_tensor* tensor;
  Matrix(Device& device, ggml_type type, int64_t n_in, int64_t n_out, bool repacked)
      : ctx(ggml_init({4 * ggml_tensor_overhead(), nullptr, true})),
        tensor(ggml_new_tensor_2d(ctx.get(), type, n_in, n_out)) {
    buffer.reset(ggml_backend_alloc_ctx_tensors_from_buft(
        ctx.get(), repacked ? device.repacked_type() : device.buffer_type()));
    ggml_backend_buffer_set_usage(buffer.get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    fill("");
  }
  void fill(std::string bytes) {
    bytes.resize(ggml_nbytes(tensor), '\0');
    ggml_backend_tensor_set(tensor, bytes.data(), 0, bytes.size());
  }
};

// Column by column, W x in the form given, for x of n columns.
std::vector<float> product(Device& device, const Matrix& w, const std::vector<float>& x, int64_t n,
                           ProductForm form) {
  const int64_t n_in = w.tensor->ne[0];
  std::vector<float> result;
  const int64_t step = form == ProductForm::kColumns ? 1 : n;
  for (int64_t begin = 0; begin < n; begin += step) {
    Graph graph(16);
    ggml_tensor* weight = graph.fixed(w.tensor, 0, n_in, w.tensor->ne[1]);
    ggml_tensor* columns = graph.input(GGML_TYPE_F32, n_in, step);
    ggml_tensor* ids = graph.input(GGML_TYPE_I32, 1, step);
    ggml_tensor* y =
        form == ProductForm::kOneExpert
            ? ggml_mul_mat_id(graph.ctx(), weight,
                              ggml_reshape_3d(graph.ctx(), columns, n_in, 1, step), ids)
            : ggml_mul_mat(graph.ctx(), weight, columns);
    graph.output(y);
    graph.expand(ids);
    graph.allocate(device.buffer_type());
    const std::vector<int32_t> zeros(static_cast<size_t>(step), 0);
    ggml_backend_tensor_set(columns, x.data() + begin * n_in, 0, ggml_nbytes(columns));
    ggml_backend_tensor_set(ids, zeros.data(), 0, ggml_nbytes(ids));
    device.compute(graph.cgraph());
    std::vector<float> part(static_cast<size_t>(ggml_nelements(y)));
    ggml_backend_tensor_get(y, part.data(), 0, part.size() * sizeof(float));
    result.insert(result.end(), part.begin(), part.end());
  }
  return result;
}

// How many of the first columns have other bits in batches than alone.
int64_t n_different(Device& device, const Matrix& w, ProductForm form, int32_t max_columns) {
  const int64_t n_in = w.tensor->ne[0];
  const auto n_out = static_cast<size_t>(w.tensor->ne[1]);
  std::mt19937 random(99);
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<size_t>(n_in * max_columns));
  for (float& value : x) {
    value = normal(random);
  }
  const std::vector<float> alone = product(device, w, x, max_columns, ProductForm::kColumns);
  int64_t count = 0;
  for (int32_t n = 1; n <= max_columns; ++n) {
    const std::vector<float> batch = product(device, w, x, n, form);
    for (int32_t column = 0; column < n; ++column) {
      const size_t at = static_cast<size_t>(column) * n_out;
      count += std::memcmp(batch.data() + at, alone.data() + at, n_out * sizeof(float)) != 0;
    }
  }
  return count;
}

}  // namespace

TEST_CASE("exec: the form that exactness chooses has the same bits at every batch size") {
  Device device(1);
  constexpr int32_t kColumns = 16;
  int n_batches_differ = 0;
  for (const ggml_type type :
       {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_Q4_0, GGML_TYPE_Q8_0,
        GGML_TYPE_Q4_K, GGML_TYPE_Q5_K, GGML_TYPE_Q6_K, GGML_TYPE_IQ4_NL, GGML_TYPE_MXFP4}) {
    for (const int64_t n_out : {int64_t{8}, int64_t{24}, int64_t{256}, int64_t{520}}) {
      for (const bool repacked : {false, true}) {
        if (repacked && !can_repack(type, 512, n_out)) {
          continue;
        }
        CAPTURE(ggml_type_name(type));
        CAPTURE(n_out);
        CAPTURE(repacked);
        Matrix w(device, type, 512, n_out, repacked);
        // Asked while the weights are zeros, which agree in every form.
        Exactness exactness(device, kColumns);
        const ProductForm form = exactness.form(w.tensor);
        const int32_t width = exactness.exact_columns_of_pools({w.tensor}, kColumns);
        CHECK((width >= 1 && width <= kColumns));
        w.fill(quantized(type, {512, n_out, 1}, 5));
        CHECK(n_different(device, w, form, kColumns) == 0);
        CHECK(n_different(device, w, ProductForm::kOneExpert, width) == 0);
        if (n_different(device, w, ProductForm::kBatch, kColumns) > 0) {
          ++n_batches_differ;
          CHECK(form != ProductForm::kBatch);
        }
      }
    }
  }
  // ggml's plain products in F32 are known to differ, so this compares something.
  CHECK(n_batches_differ > 0);
}

TEST_CASE("exec: a KV cache keeps what it holds when it grows, and shows its length only") {
  Device device(1);
  Hparams h;
  LayerHparams layer;
  layer.n_head_kv = 2;
  layer.head_dim = layer.head_dim_v = 8;
  h.layers = {layer, layer};
  KvCache kv(h, device.buffer_type(), 5 * kKvBucket);
  CHECK(kv.capacity() == 0);
  CHECK(kv.bytes() == 0);
  kv.reserve(1);
  CHECK(kv.capacity() == kKvBucket);
  const auto row = [&](int32_t layer, int32_t position) {
    std::vector<ggml_fp16_t> values(16, static_cast<ggml_fp16_t>(100 * layer + position));
    return values;
  };
  const auto write = [&](int32_t position) {
    for (int32_t layer = 0; layer < 2; ++layer) {
      const auto values = row(layer, position);
      for (ggml_tensor* tensor : {kv.keys(layer), kv.values(layer)}) {
        ggml_backend_tensor_set(tensor, values.data(),
                                static_cast<size_t>(position) * tensor->nb[1], 32);
      }
    }
  };
  const auto holds = [&](int32_t n) {
    std::vector<ggml_fp16_t> mask(static_cast<size_t>(kv.capacity()));
    ggml_backend_tensor_get(kv.mask(), mask.data(), 0, mask.size() * 2);
    bool good = kv.length() == n;
    for (int32_t i = 0; i < kv.capacity(); ++i) {
      const float value = ggml_fp16_to_fp32(mask[static_cast<size_t>(i)]);
      good = good && (i < n ? value == 0.0F : value == -INFINITY);
    }
    for (int32_t layer = 0; layer < 2; ++layer) {
      for (int32_t i = 0; i < n; ++i) {
        std::vector<ggml_fp16_t> values(16);
        ggml_backend_tensor_get(kv.values(layer), values.data(),
                                static_cast<size_t>(i) * kv.values(layer)->nb[1], 32);
        good = good && values == row(layer, i);
      }
    }
    return good;
  };
  CHECK(holds(0));
  for (int32_t i = 0; i < 200; ++i) {
    write(i);
  }
  kv.set_length(200);
  CHECK(holds(200));
  kv.reserve(257);
  CHECK(kv.capacity() == 2 * kKvBucket);
  CHECK(holds(200));
  kv.set_length(3);
  CHECK(holds(3));
  kv.set_length(200);
  CHECK(holds(200));
  kv.reserve(2000);
  CHECK(kv.capacity() == 2048);
  CHECK(holds(200));
  kv.set_length(0);
  CHECK(holds(0));
  const uint64_t bytes = kv.bytes();
  kv.reserve(100);
  CHECK(kv.bytes() == bytes);
}

}  // namespace runahead::test
