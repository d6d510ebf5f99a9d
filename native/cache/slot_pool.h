// cache/slot_pool.h
//
// SlotPool is the memory of one slot class: `max_slots` records side by side, and for each matrix
// of an expert one tensor [n_in, n_out, n_slots] that looks into them with the record as stride.
// Where memory is host-visible it is reserved address space: slots cost nothing until they are
// written, and a slot given up returns its pages. Elsewhere it is one buffer on the device, written
// through put().
//
// tensors() and cover() belong to the engine thread; host_pointer() and put() may be called by
// readers for slots that are loading.

#pragma once

#include <ggml-backend.h>
#include <ggml-cpp.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/reserved_memory.h"
#include "store/layout.h"
#include "store/repack.h"

namespace runahead {

struct PoolMemory {
  ggml_backend_buffer_type_t plain = nullptr;
  bool host_visible = true;
  bool staged = false;  // host-visible, but written through put(): how tests cover the other path
};

class SlotPool {
 public:
  SlotPool(const SlotClass& slot_class, int32_t max_slots, const PoolMemory& memory);

  // One pool per matrix; its ne[2] covers every slot computed with so far: kernels look at
  // each.
  [[nodiscard]] const std::vector<ggml_tensor*>& tensors() const { return tensors_; }

  // The tensors grow to cover `slot`.
  void cover(SlotId slot);
  // Gives the memory of an empty slot back where that is possible.
  void give_up(SlotId slot);

  // Where readers put the record of `slot`; nullptr: use put().
  [[nodiscard]] std::byte* host_pointer(SlotId slot) const;
  void put(SlotId slot, uint64_t offset, std::span<const std::byte> bytes);

  [[nodiscard]] uint64_t record_bytes() const { return record_bytes_; }
  [[nodiscard]] int32_t max_slots() const { return max_slots_; }

 private:
  [[nodiscard]] size_t start_of(SlotId slot) const {
    return static_cast<size_t>(to_int(slot)) * record_bytes_;
  }

  uint64_t record_bytes_;
  int32_t max_slots_;
  bool staged_;
  ReservedMemory reserved_;  // host-visible memory
  ggml_context_ptr ctx_;
  ggml_backend_buffer_ptr buffer_;        // what ggml knows of the memory
  std::unique_ptr<RepackAnchor> anchor_;  // marks repacked matrices
  std::vector<ggml_tensor*> tensors_;
  ggml_tensor* device_bytes_ = nullptr;  // I8 view over the whole pool, for put() on a device
};

}  // namespace runahead
