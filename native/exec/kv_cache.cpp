#include "exec/kv_cache.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/error.h"

namespace runahead {

void KvCache::reserve(int32_t n_tokens) {
  if (n_tokens <= capacity_) {
    return;
  }
  const int32_t capacity = kv_bucket(std::max(n_tokens, std::min(2 * capacity_, max_tokens_)));
  const auto n_layer = static_cast<size_t>(hparams_.n_layer());
  ggml_context_ptr ctx(ggml_init({ggml_tensor_overhead() * (2 * n_layer + 2), nullptr, true}));
  std::vector<ggml_tensor*> keys;
  std::vector<ggml_tensor*> values;
  const auto rows = [&](int32_t width) {
    return width == 0 ? nullptr : ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F16, width, capacity);
  };
  for (const LayerHparams& layer : hparams_.layers) {
    keys.push_back(rows(layer.recurrent ? 0 : layer.n_embd_k()));
    values.push_back(rows(layer.recurrent ? 0 : layer.n_embd_v()));
  }
  const auto new_mask = [&] { return ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F16, capacity); };
  ggml_tensor* mask = new_mask();
  ggml_tensor* window_mask = hparams_.window() > 0 ? new_mask() : nullptr;
  ggml_backend_buffer_ptr buffer(ggml_backend_alloc_ctx_tensors_from_buft(ctx.get(), type_));
  if (buffer == nullptr) {
    throw Error(ErrorCode::kNoMemory,
                "no memory for the KV cache of " + std::to_string(capacity) + " tokens");
  }
  ggml_backend_buffer_clear(buffer.get(), 0);  // masked positions must still be finite
  std::vector<std::byte> bytes;
  const auto copy = [&](const ggml_tensor* from, ggml_tensor* to) {
    bytes.resize(from == nullptr ? 0 : from->nb[1] * static_cast<size_t>(length_));
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
  window_mask_ = window_mask;
  capacity_ = capacity;
  show(mask_, 0, capacity, -INFINITY);
  show(window_mask_, 0, capacity, -INFINITY);
  const int32_t length = std::exchange(length_, 0);
  set_length(length);
}

void KvCache::show(ggml_tensor* mask, int32_t begin, int32_t end, float value) const {
  if (mask != nullptr && begin < end) {
    const std::vector<ggml_fp16_t> values(static_cast<size_t>(end - begin),
                                          ggml_fp32_to_fp16(value));
    ggml_backend_tensor_set(mask, values.data(), static_cast<size_t>(begin) * sizeof(ggml_fp16_t),
                            values.size() * sizeof(ggml_fp16_t));
  }
}

void KvCache::set_length(int32_t length) {
  CHECK(length >= 0 && length <= capacity_);
  const int32_t low = std::min(length, length_);
  const int32_t high = std::max(length, length_);
  show(mask_, low, high, length > length_ ? 0.0F : -INFINITY);
  // Only what enters or leaves the window is written.
  const int32_t first = hparams_.window_begin(length - 1);
  const int32_t old_first = hparams_.window_begin(length_ - 1);
  show(window_mask_, old_first, std::min(first, length_), -INFINITY);
  show(window_mask_, std::max(length, old_first), length_, -INFINITY);
  show(window_mask_, first, std::min(old_first, length), 0.0F);
  show(window_mask_, std::max(length_, first), length, 0.0F);
  length_ = length;
}

}  // namespace runahead
