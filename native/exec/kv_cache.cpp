#include "exec/kv_cache.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.h"

namespace runahead {

void KvCache::reserve(int32_t n_tokens) {
  if (n_tokens <= capacity_) {
    return;
  }
  const int32_t capacity = kv_bucket(std::max(n_tokens, std::min(2 * capacity_, max_tokens_)));
  const auto n_layer = static_cast<size_t>(hparams_.n_layer);
  ggml_context_ptr ctx(ggml_init({ggml_tensor_overhead() * (2 * n_layer + 1), nullptr, true}));
  std::vector<ggml_tensor*> keys;
  std::vector<ggml_tensor*> values;
  for (size_t il = 0; il < n_layer; ++il) {
    keys.push_back(ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F16, hparams_.n_embd_kv(), capacity));
    values.push_back(ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F16, hparams_.n_embd_kv(), capacity));
  }
  ggml_tensor* mask = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F16, capacity);
  ggml_backend_buffer_ptr buffer(ggml_backend_alloc_ctx_tensors_from_buft(ctx.get(), type_));
  if (buffer == nullptr) {
    throw Error(ErrorCode::kNoMemory,
                "no memory for the KV cache of " + std::to_string(capacity) + " tokens");
  }
  ggml_backend_buffer_clear(buffer.get(), 0);  // masked positions must still be finite
  std::vector<std::byte> bytes;
  const auto copy = [&](const ggml_tensor* from, ggml_tensor* to) {
    bytes.resize(from->nb[1] * static_cast<size_t>(length_));
    if (!bytes.empty()) {
      ggml_backend_tensor_get(from, bytes.data(), 0, bytes.size());
      ggml_backend_tensor_set(to, bytes.data(), 0, bytes.size());
    }
  };
  for (size_t il = 0; il < keys_.size(); ++il) {
    copy(keys_[il], keys[il]);
    copy(values_[il], values[il]);
  }
  buffer_ = std::move(buffer);
  ctx_ = std::move(ctx);
  keys_ = std::move(keys);
  values_ = std::move(values);
  mask_ = mask;
  capacity_ = capacity;
  const std::vector<ggml_fp16_t> hidden(static_cast<size_t>(capacity),
                                        ggml_fp32_to_fp16(-INFINITY));
  ggml_backend_tensor_set(mask_, hidden.data(), 0, hidden.size() * sizeof(ggml_fp16_t));
  const int32_t length = length_;
  length_ = 0;
  set_length(length);
}

void KvCache::set_length(int32_t length) {
  CHECK(length >= 0 && length <= capacity_);
  const int32_t begin = std::min(length, length_);
  const int32_t end = std::max(length, length_);
  const float value = length > length_ ? 0.0F : -INFINITY;
  const std::vector<ggml_fp16_t> changed(static_cast<size_t>(end - begin),
                                         ggml_fp32_to_fp16(value));
  if (!changed.empty()) {
    ggml_backend_tensor_set(mask_, changed.data(), static_cast<size_t>(begin) * sizeof(ggml_fp16_t),
                            changed.size() * sizeof(ggml_fp16_t));
  }
  length_ = length;
}

}  // namespace runahead
