#include "cache/slot_pool.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace runahead {

SlotPool::SlotPool(const SlotClass& slot_class, int32_t max_slots, const PoolMemory& memory)
    : record_bytes_(slot_class.record_bytes),
      max_slots_(max_slots),
      staged_(memory.staged || !memory.host_visible) {
  const size_t bytes = record_bytes_ * static_cast<size_t>(max_slots);
  ctx_.reset(ggml_init({ggml_tensor_overhead() * (slot_class.matrices.size() + 2), nullptr, true}));
  std::byte* base = nullptr;
  if (memory.host_visible) {
    reserved_ = ReservedMemory(bytes);
    base = reserved_.data();
    buffer_.reset(ggml_backend_cpu_buffer_from_ptr(base, bytes));
  } else {
    device_bytes_ = ggml_new_tensor_1d(ctx_.get(), GGML_TYPE_I8, static_cast<int64_t>(bytes));
    buffer_.reset(ggml_backend_buft_alloc_buffer(memory.plain, bytes));
    if (buffer_ == nullptr) {
      throw Error(ErrorCode::kNoMemory,
                  "the device has no " + std::to_string(bytes) + " bytes for expert slots");
    }
    base = static_cast<std::byte*>(ggml_backend_buffer_get_base(buffer_.get()));
    ggml_backend_tensor_alloc(buffer_.get(), device_bytes_, base);
  }
  for (const ExpertMatrix& matrix : slot_class.matrices) {
    ggml_tensor* tensor = ggml_new_tensor_3d(ctx_.get(), matrix.type, matrix.n_in, matrix.n_out, 1);
    if (matrix.repacked) {
      if (anchor_ == nullptr) {
        anchor_ = std::make_unique<RepackAnchor>();
      }
      anchor_->place(tensor, base + matrix.offset);
    } else {
      tensor->data = base + matrix.offset;
      tensor->buffer = buffer_.get();
    }
    tensor->nb[2] = record_bytes_;
    tensor->nb[3] = bytes;
    tensors_.push_back(tensor);
  }
}

void SlotPool::cover(SlotId slot) {
  CHECK(to_int(slot) >= 0 && to_int(slot) < max_slots_);
  for (ggml_tensor* tensor : tensors_) {
    tensor->ne[2] = std::max<int64_t>(tensor->ne[2], to_int(slot) + 1);
  }
}

void SlotPool::give_up(SlotId slot) {
  if (reserved_.data() != nullptr) {
    reserved_.give_back(start_of(slot), record_bytes_);
  }
}

std::byte* SlotPool::host_pointer(SlotId slot) const {
  return staged_ ? nullptr : reserved_.data() + start_of(slot);
}

void SlotPool::put(SlotId slot, uint64_t offset, std::span<const std::byte> bytes) {
  CHECK(offset + bytes.size() <= record_bytes_);
  if (device_bytes_ != nullptr) {
    ggml_backend_tensor_set(device_bytes_, bytes.data(), start_of(slot) + offset, bytes.size());
  } else {
    std::memcpy(reserved_.data() + start_of(slot) + offset, bytes.data(), bytes.size());
  }
}

}  // namespace runahead
