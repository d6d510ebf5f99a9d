// exec/kv_cache.h
//
// KvCache holds the keys and values of one session, for all layers that have some, and the masks of
// positions its next token may look at: all, or those of its window. It grows by doubling up to
// the context, keeping what it holds. Engine thread only.

#pragma once

#include <ggml-backend.h>
#include <ggml-cpp.h>

#include <cstdint>
#include <vector>

#include "model/hparams.h"

namespace runahead {

// Attention looks at whole buckets, so that graphs are shared by sessions of similar length.
constexpr int32_t kKvBucket = 256;

class KvCache {
 public:
  // max_tokens: the context, which doubling does not exceed.
  KvCache(const Hparams& hparams, ggml_backend_buffer_type_t type, int32_t max_tokens)
      : hparams_(hparams), type_(type), max_tokens_(max_tokens) {}

  // Room for `n_tokens` positions. Throws Error(kNoMemory).
  void reserve(int32_t n_tokens);
  // Positions [0, length) are visible to the next token.
  void set_length(int32_t length);

  [[nodiscard]] int32_t length() const { return length_; }
  [[nodiscard]] int32_t capacity() const { return capacity_; }
  [[nodiscard]] uint64_t bytes() const {
    return buffer_ == nullptr ? 0 : ggml_backend_buffer_get_size(buffer_.get());
  }
  // F16; nullptr for layers that have none.
  [[nodiscard]] ggml_tensor* keys(int32_t il) const { return keys_[static_cast<size_t>(il)]; }
  [[nodiscard]] ggml_tensor* values(int32_t il) const { return values_[static_cast<size_t>(il)]; }
  [[nodiscard]] ggml_tensor* mask() const { return mask_; }  // F16 [capacity]: 0 or -inf
  // The same for layers with a window; nullptr where no layer has one.
  [[nodiscard]] ggml_tensor* window_mask() const { return window_mask_; }

 private:
  void show(ggml_tensor* mask, int32_t begin, int32_t end, float value) const;

  const Hparams& hparams_;
  ggml_backend_buffer_type_t type_;
  int32_t max_tokens_;
  ggml_context_ptr ctx_;
  ggml_backend_buffer_ptr buffer_;
  std::vector<ggml_tensor*> keys_;    // [n_embd_k, capacity] per layer
  std::vector<ggml_tensor*> values_;  // [n_embd_v, capacity] per layer
  ggml_tensor* mask_ = nullptr;
  ggml_tensor* window_mask_ = nullptr;
  int32_t capacity_ = 0;
  int32_t length_ = 0;
};

// Positions rounded up to whole buckets.
constexpr int32_t kv_bucket(int32_t n_positions) {
  return (n_positions + kKvBucket - 1) / kKvBucket * kKvBucket;
}

}  // namespace runahead
