// trace/ring.h
//
// Ring is a bounded queue of trace records with one writer thread and one reader thread. A full
// ring counts what it drops and never blocks, so tracing cannot stall a step.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/record.h"

namespace runahead {

class Ring {
 public:
  // REQUIRES: capacity is a power of two.
  explicit Ring(size_t capacity);

  // Writer thread only.
  void push(const Record& record);

  // Reader thread only: appends what is there, returns how many.
  size_t drain(std::vector<Record>& out);

  // Records dropped since the ring was made.
  [[nodiscard]] uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  std::vector<Record> slots_;
  size_t mask_;
  alignas(64) std::atomic<uint64_t> head_{0};  // next to write
  alignas(64) std::atomic<uint64_t> tail_{0};  // next to read
  std::atomic<uint64_t> dropped_{0};
};

}  // namespace runahead
