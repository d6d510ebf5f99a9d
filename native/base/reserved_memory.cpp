#include "base/reserved_memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <string>
#include <utility>

#include "base/align.h"
#include "base/error.h"

namespace runahead {

ReservedMemory::ReservedMemory(size_t bytes) : size_(bytes) {
  if (bytes > SIZE_MAX - kHugePageBytes - kPageBytes) {
    throw Error(ErrorCode::kNoMemory,
                "cannot reserve " + std::to_string(bytes) + " bytes of memory for experts");
  }
  mapping_bytes_ = align_up(bytes, kPageBytes) + kHugePageBytes;
  int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#ifdef MAP_NORESERVE
  flags |= MAP_NORESERVE;
#endif
  mapping_ = mmap(nullptr, mapping_bytes_, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (mapping_ == MAP_FAILED) {
    mapping_ = nullptr;
    throw Error(ErrorCode::kNoMemory,
                "cannot reserve " + std::to_string(bytes) + " bytes of memory for experts");
  }
  data_ =
      reinterpret_cast<std::byte*>(align_up(reinterpret_cast<uintptr_t>(mapping_), kHugePageBytes));
#ifdef MADV_HUGEPAGE
  madvise(data_, align_up(bytes, kPageBytes), MADV_HUGEPAGE);  // a wish; failure costs only speed
#endif
}

ReservedMemory::~ReservedMemory() {
  if (mapping_ != nullptr) {
    munmap(mapping_, mapping_bytes_);
  }
}

ReservedMemory::ReservedMemory(ReservedMemory&& other) noexcept {
  *this = std::move(other);
}

ReservedMemory& ReservedMemory::operator=(ReservedMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapping_, other.mapping_);
  std::swap(mapping_bytes_, other.mapping_bytes_);
  return *this;
}

void ReservedMemory::give_back(size_t offset, size_t bytes) {
  const size_t begin = align_up(offset, kPageBytes);
  const size_t end = align_down(offset + bytes, kPageBytes);
  if (begin >= end) {
    return;
  }
#ifdef __APPLE__
  madvise(data_ + begin, end - begin, MADV_FREE);
#else
  madvise(data_ + begin, end - begin, MADV_DONTNEED);
#endif
}

}  // namespace runahead
