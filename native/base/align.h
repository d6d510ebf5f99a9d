// base/align.h: direct I/O wants 4096-aligned offsets, lengths and memory.

#pragma once

#include <cstddef>
#include <cstdint>

namespace runahead {

constexpr size_t kPageBytes = 4096;
constexpr size_t kHugePageBytes = size_t{2} << 20;

constexpr uint64_t align_up(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}
constexpr uint64_t align_down(uint64_t value, uint64_t alignment) {
  return value / alignment * alignment;
}

}  // namespace runahead
