// store/repack.h
//
// Repacking interleaves the rows of a matrix for this CPU's faster kernels. The bytes keep their
// number, and ggml's CPU_REPACK buffer type does the work, so a record can be kept repacked on disk
// and placed raw into a slot. The form depends on the CPU and on ggml's version: repack_tag() names
// it.
//
// All functions may be called from any thread; a Repacker is used by one thread at a time.

#pragma once

#include <ggml-backend.h>
#include <ggml.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "store/layout.h"

namespace runahead {

// ggml's CPU_REPACK buffer type, nullptr where this build or CPU has none.
[[nodiscard]] ggml_backend_buffer_type_t repack_buffer_type();

// Whether ggml_mul_mat_id has repacked kernels here for this type and shape.
[[nodiscard]] bool can_repack(ggml_type type, int64_t n_in, int64_t n_out);

// A hash of what repacking makes of a fixed test matrix: equal tags, equal form.
// REQUIRES: can_repack().
[[nodiscard]] uint64_t repack_tag(ggml_type type, int64_t n_in, int64_t n_out);

// `plain` with every matrix that can be repacked here marked so. The result is plain where none
// can.
[[nodiscard]] StoreLayout repacked_layout(const StoreLayout& plain);

// Gives a tensor memory of our own (`data`, for example a pool of slots) and marks it as repacked
// weights. ne and nb may be set as the caller likes (nb[2] = slot stride). It owns nothing of the
// tensor and must outlive its use.
class RepackAnchor {
 public:
  // REQUIRES: repack_buffer_type() != nullptr.
  RepackAnchor();
  // REQUIRES: can_repack(tensor's type and shape); the tensor has no memory yet.
  void place(ggml_tensor* tensor, std::byte* data) const;

 private:
  std::unique_ptr<ggml_backend_buffer, decltype(&ggml_backend_buffer_free)> buffer_;
};

class Repacker {
 public:
  // REQUIRES: can_repack().
  Repacker(ggml_type type, int64_t n_in, int64_t n_out);
  // REQUIRES: both of the matrix' size, apart from each other.
  void repack(std::span<const std::byte> plain, std::span<std::byte> repacked);

 private:
  RepackAnchor anchor_;
  std::unique_ptr<ggml_context, decltype(&ggml_free)> context_;
  ggml_tensor* tensor_;
};

}  // namespace runahead
