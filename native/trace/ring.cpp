#include "trace/ring.h"

#include "base/error.h"

namespace runahead {

Ring::Ring(size_t capacity) : slots_(capacity), mask_(capacity - 1) {
  CHECK(capacity > 0 && (capacity & mask_) == 0);
}

void Ring::push(const Record& record) {
  const uint64_t head = head_.load(std::memory_order_relaxed);
  if (head - tail_.load(std::memory_order_acquire) == slots_.size()) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  slots_[head & mask_] = record;
  head_.store(head + 1, std::memory_order_release);
}

size_t Ring::drain(std::vector<Record>& out) {
  const uint64_t tail = tail_.load(std::memory_order_relaxed);
  const uint64_t head = head_.load(std::memory_order_acquire);
  for (uint64_t i = tail; i < head; ++i) {
    out.push_back(slots_[i & mask_]);
  }
  tail_.store(head, std::memory_order_release);
  return static_cast<size_t>(head - tail);
}

}  // namespace runahead
