#include "store/repack.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "store/checksum.h"

namespace runahead {
namespace {

using ContextPtr = std::unique_ptr<ggml_context, decltype(&ggml_free)>;

ContextPtr make_context(size_t n_tensors) {
  ContextPtr context(ggml_init({ggml_tensor_overhead() * n_tensors, nullptr, /*no_alloc=*/true}),
                     &ggml_free);
  if (context == nullptr) {
    throw Error(ErrorCode::kNoMemory, "cannot allocate memory for tensor headers");
  }
  return context;
}

ggml_backend_buffer_type_t find_repack_buffer_type() {
  ggml_backend_dev_t cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
  if (cpu == nullptr) {
    return nullptr;
  }
  void* address = ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(cpu),
                                                    "ggml_backend_dev_get_extra_bufts");
  if (address == nullptr) {
    return nullptr;
  }
  // Only this one: other extra types (AMX) keep their weights in forms of other sizes, and crash in
  // batches.
  const auto get_extra = reinterpret_cast<ggml_backend_dev_get_extra_bufts_t>(address);
  for (ggml_backend_buffer_type_t* type = get_extra(cpu); type != nullptr && *type != nullptr;
       ++type) {
    if (std::strcmp(ggml_backend_buft_name(*type), "CPU_REPACK") == 0) {
      return *type;
    }
  }
  return nullptr;
}

}  // namespace

ggml_backend_buffer_type_t repack_buffer_type() {
  static const ggml_backend_buffer_type_t type = find_repack_buffer_type();
  return type;
}

bool can_repack(ggml_type type, int64_t n_in, int64_t n_out) {
  if (repack_buffer_type() == nullptr || n_in % ggml_blck_size(type) != 0) {
    return false;
  }
  const ContextPtr context = make_context(4);
  // Two experts: with one the tensor would count as a matrix, for which other rules hold.
  ggml_tensor* weights = ggml_new_tensor_3d(context.get(), type, n_in, n_out, 2);
  ggml_tensor* x = ggml_new_tensor_3d(context.get(), GGML_TYPE_F32, n_in, 1, 1);
  ggml_tensor* ids = ggml_new_tensor_2d(context.get(), GGML_TYPE_I32, 1, 1);
  const std::unique_ptr<ggml_backend_buffer, decltype(&ggml_backend_buffer_free)> buffer(
      ggml_backend_buft_alloc_buffer(repack_buffer_type(), 0), &ggml_backend_buffer_free);
  weights->buffer = buffer.get();
  const ggml_tensor* product = ggml_mul_mat_id(context.get(), weights, x, ids);
  return ggml_backend_dev_supports_op(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU),
                                      product);
}

uint64_t repack_tag(ggml_type type, int64_t n_in, int64_t n_out) {
  // ggml chooses the form by type and by what divides the number of rows, so a small matrix with
  // the same divisors shows it.
  const int64_t probe_in = std::min<int64_t>(n_in, 4 * ggml_blck_size(type));
  const int64_t probe_out = 64 + n_out % 64;
  std::vector<std::byte> plain(ggml_row_size(type, probe_in) * static_cast<size_t>(probe_out));
  uint32_t state = 1;
  for (std::byte& byte : plain) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<std::byte>(state >> 24);
  }
  std::vector<std::byte> repacked(plain.size());
  Repacker(type, probe_in, probe_out).repack(plain, repacked);
  return checksum(repacked);
}

StoreLayout repacked_layout(const StoreLayout& plain) {
  StoreLayout layout = plain;
  for (SlotClass& slot_class : layout.classes) {
    for (ExpertMatrix& matrix : slot_class.matrices) {
      matrix.repacked = can_repack(matrix.type, matrix.n_in, matrix.n_out);
      if (matrix.repacked) {
        layout.weights = WeightLayout::kRepacked;
      }
    }
  }
  return layout;
}

RepackAnchor::RepackAnchor()
    // Its size does not matter, but an empty buffer would not mark tensors.
    : buffer_(ggml_backend_buft_alloc_buffer(repack_buffer_type(), 64), &ggml_backend_buffer_free) {
  if (buffer_ == nullptr) {
    throw Error(ErrorCode::kNoMemory, "cannot allocate a repack buffer");
  }
  ggml_backend_buffer_set_usage(buffer_.get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
}

void RepackAnchor::place(ggml_tensor* tensor, std::byte* data) const {
  CHECK(tensor->buffer == nullptr && tensor->data == nullptr && data != nullptr);
  tensor->buffer = buffer_.get();
  tensor->data = data;
  const ggml_status status = ggml_backend_buffer_init_tensor(buffer_.get(), tensor);
  CHECK(status == GGML_STATUS_SUCCESS && tensor->extra != nullptr);
}

Repacker::Repacker(ggml_type type, int64_t n_in, int64_t n_out)
    : context_(make_context(1)), tensor_(ggml_new_tensor_2d(context_.get(), type, n_in, n_out)) {}

void Repacker::repack(std::span<const std::byte> plain, std::span<std::byte> repacked) {
  CHECK(plain.size() == ggml_nbytes(tensor_) && repacked.size() == plain.size());
  tensor_->buffer = nullptr;
  tensor_->data = nullptr;
  anchor_.place(tensor_, repacked.data());
  ggml_backend_tensor_set(tensor_, plain.data(), 0, plain.size());
}

}  // namespace runahead
