#include "store/repack.h"

#include <ggml-cpu.h>

#include <cmath>
#include <memory>

#include "store_errors.h"
#include "store_model.h"

namespace runahead::test {
namespace {

using ContextPtr = std::unique_ptr<ggml_context, decltype(&ggml_free)>;
using BufferPtr = std::unique_ptr<ggml_backend_buffer, decltype(&ggml_backend_buffer_free)>;

ContextPtr make_context() {
  return {ggml_init({ggml_tensor_overhead() * 64 + 8 * ggml_graph_overhead(), nullptr, true}),
          &ggml_free};
}

constexpr int64_t kIn = 256;
constexpr int64_t kOut = 40;
constexpr int64_t kSlots = 6;

// ggml_mul_mat_id of fixed inputs over the slots of `weights`: [kOut, 2 experts, n_tokens].
std::vector<float> product_over(ggml_context* context, ggml_tensor* weights, int64_t n_tokens) {
  ggml_tensor* x = ggml_new_tensor_3d(context, GGML_TYPE_F32, kIn, 1, n_tokens);
  ggml_tensor* ids = ggml_new_tensor_2d(context, GGML_TYPE_I32, 2, n_tokens);
  ggml_tensor* product = ggml_mul_mat_id(context, weights, x, ids);
  std::vector<float> x_values(static_cast<size_t>(kIn * n_tokens));
  for (size_t i = 0; i < x_values.size(); ++i) {
    x_values[i] = std::sin(static_cast<float>(i) * 0.37f);
  }
  std::vector<int32_t> id_values;
  for (int32_t t = 0; t < n_tokens; ++t) {
    id_values.insert(id_values.end(), {t % 6, (t * 2 + 3) % 6});
  }
  std::vector<float> out(static_cast<size_t>(kOut * 2 * n_tokens));
  const std::unique_ptr<ggml_backend, decltype(&ggml_backend_free)> backend(
      ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr), &ggml_backend_free);
  const BufferPtr buffer(ggml_backend_alloc_buffer(backend.get(), 1 << 20),
                         &ggml_backend_buffer_free);
  auto* at = static_cast<std::byte*>(ggml_backend_buffer_get_base(buffer.get()));
  for (ggml_tensor* tensor : {x, ids, product}) {
    ggml_backend_tensor_alloc(buffer.get(), tensor, at);
    at += align_up(ggml_nbytes(tensor), 64);
  }
  ggml_backend_tensor_set(x, x_values.data(), 0, ggml_nbytes(x));
  ggml_backend_tensor_set(ids, id_values.data(), 0, ggml_nbytes(ids));
  ggml_cgraph* graph = ggml_new_graph(context);
  ggml_build_forward_expand(graph, product);
  REQUIRE(ggml_backend_graph_compute(backend.get(), graph) == GGML_STATUS_SUCCESS);
  ggml_backend_tensor_get(product, out.data(), 0, ggml_nbytes(product));
  return out;
}

ggml_tensor* new_pool(ggml_context* context, ggml_type type, size_t stride) {
  ggml_tensor* pool = ggml_new_tensor_3d(context, type, kIn, kOut, kSlots);
  pool->nb[2] = stride;
  pool->nb[3] = stride * kSlots;
  return pool;
}

}  // namespace

TEST_CASE("without a repack buffer type nothing can be repacked; with one, only whole row groups") {
  for (const ggml_type type : {GGML_TYPE_Q4_0, GGML_TYPE_Q4_K, GGML_TYPE_F32, GGML_TYPE_F16}) {
    CAPTURE(ggml_type_name(type));
    if (repack_buffer_type() == nullptr) {
      CHECK_FALSE(can_repack(type, 256, 64));
    }
    CHECK_FALSE(can_repack(type, 256, 63));
  }
  CHECK_FALSE(can_repack(GGML_TYPE_F32, 256, 64));
}

#ifdef __AVX2__
TEST_CASE("this CPU has repacked kernels for Q4_0") {
  CHECK(can_repack(GGML_TYPE_Q4_0, 256, 64));
}
#endif

TEST_CASE("a pool of raw repacked records in our own memory computes what plain weights compute") {
  for (const ggml_type type : {GGML_TYPE_Q4_0, GGML_TYPE_Q4_K, GGML_TYPE_Q8_0, GGML_TYPE_IQ4_NL,
                               GGML_TYPE_Q6_K, GGML_TYPE_MXFP4, GGML_TYPE_F16, GGML_TYPE_BF16}) {
    const std::string plain = quantized(type, {kIn, kOut, kSlots}, 7);
    const size_t matrix = plain.size() / kSlots;
    const size_t stride = align_up(matrix, kPageBytes) + 2 * kPageBytes;
    const auto* plain_bytes = reinterpret_cast<const std::byte*>(plain.data());

    for (const int64_t n_tokens : {1, 3, 9}) {
      CAPTURE(ggml_type_name(type));
      CAPTURE(n_tokens);
      const ContextPtr context = make_context();
      // Plain and contiguous, in ggml's own buffer: the reference.
      ggml_tensor* reference = ggml_new_tensor_3d(context.get(), type, kIn, kOut, kSlots);
      const BufferPtr buffer(
          ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), plain.size() + 64),
          &ggml_backend_buffer_free);
      ggml_backend_tensor_alloc(buffer.get(), reference,
                                ggml_backend_buffer_get_base(buffer.get()));
      ggml_backend_tensor_set(reference, plain.data(), 0, plain.size());
      const std::vector<float> expected = product_over(context.get(), reference, n_tokens);

      // Plain, strided, in our memory: the same bits.
      const ReservedMemory memory(stride * kSlots);
      for (size_t slot = 0; slot < kSlots; ++slot) {
        std::copy_n(plain_bytes + slot * matrix, matrix, memory.data() + slot * stride);
      }
      ggml_tensor* strided = new_pool(context.get(), type, stride);
      const BufferPtr over(ggml_backend_cpu_buffer_from_ptr(memory.data(), memory.size()),
                           &ggml_backend_buffer_free);
      strided->buffer = over.get();
      strided->data = memory.data();
      CHECK(product_over(context.get(), strided, n_tokens) == expected);

      if (!can_repack(type, kIn, kOut)) {
        continue;
      }
      // Repacked one by one, strided, in our memory: the same sums in another order.
      Repacker repacker(type, kIn, kOut);
      for (size_t slot = 0; slot < kSlots; ++slot) {
        repacker.repack({plain_bytes + slot * matrix, matrix},
                        {memory.data() + slot * stride, matrix});
      }
      const RepackAnchor anchor;
      ggml_tensor* pool = new_pool(context.get(), type, stride);
      anchor.place(pool, memory.data());
      const std::vector<float> repacked = product_over(context.get(), pool, n_tokens);
      // ggml's own repacked tensor: the same bits.
      ggml_tensor* own = ggml_new_tensor_3d(context.get(), type, kIn, kOut, kSlots);
      const BufferPtr own_buffer(
          ggml_backend_buft_alloc_buffer(repack_buffer_type(), plain.size() + 64),
          &ggml_backend_buffer_free);
      ggml_backend_tensor_alloc(own_buffer.get(), own,
                                ggml_backend_buffer_get_base(own_buffer.get()));
      ggml_backend_tensor_set(own, plain.data(), 0, plain.size());
      CHECK(product_over(context.get(), own, n_tokens) == repacked);

      double error = 0;
      double norm = 0;
      for (size_t i = 0; i < expected.size(); ++i) {
        error += std::pow(repacked[i] - expected[i], 2);
        norm += std::pow(expected[i], 2);
      }
      CHECK(norm > 0);
      CHECK(error / norm < 1e-4);
    }
  }
}

TEST_CASE(
    "a repack tag names the form: stable, the same for other shapes of it, another for other "
    "types") {
  std::vector<uint64_t> tags;
  for (const ggml_type type : {GGML_TYPE_Q4_0, GGML_TYPE_Q4_K, GGML_TYPE_IQ4_NL}) {
    if (can_repack(type, 512, 64)) {
      tags.push_back(repack_tag(type, 512, 64));
      CHECK(repack_tag(type, 512, 64) == tags.back());
      CHECK(repack_tag(type, 2048, 768) == repack_tag(type, 2048, 128));
    }
  }
  std::sort(tags.begin(), tags.end());
  CHECK(std::adjacent_find(tags.begin(), tags.end()) == tags.end());
}

}  // namespace runahead::test
