#include "base/reserved_memory.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/align.h"
#include "store_errors.h"

namespace runahead::test {

TEST_CASE("reserved memory begins on a huge page, is zero, and can be written to its end") {
  for (const size_t bytes : {size_t{1}, kPageBytes, kHugePageBytes + 5, size_t{10} << 20}) {
    const ReservedMemory memory(bytes);
    CHECK(memory.size() == bytes);
    CHECK(reinterpret_cast<uintptr_t>(memory.data()) % kHugePageBytes == 0);
    CHECK(std::all_of(memory.data(), memory.data() + bytes,
                      [](std::byte byte) { return byte == std::byte{0}; }));
    std::memset(memory.data(), 0xaa, bytes);
    CHECK(memory.data()[bytes - 1] == std::byte{0xaa});
  }
}

TEST_CASE(
    "memory given back is zero again; only whole pages are given, and the rest keeps its bytes") {
  ReservedMemory memory(8 * kPageBytes);
  std::memset(memory.data(), 0xaa, memory.size());
  memory.give_back(kPageBytes + 1, 3 * kPageBytes);  // whole pages: 2 and 3
  memory.give_back(6 * kPageBytes + 1, kPageBytes);  // none
  for (size_t page = 0; page < 8; ++page) {
    CAPTURE(page);
#ifdef __APPLE__
    const bool given = false;  // MADV_FREE: zero only once the system wants the page
#else
    const bool given = page == 2 || page == 3;
#endif
    const std::byte expected{given ? uint8_t{0} : uint8_t{0xaa}};
    const std::byte* begin = memory.data() + page * kPageBytes;
    CHECK(std::all_of(begin, begin + kPageBytes, [&](std::byte byte) { return byte == expected; }));
  }
}

TEST_CASE("address space is not memory: far more can be reserved than there is") {
  const ReservedMemory memory(size_t{1} << 40);
  memory.data()[(size_t{1} << 40) - 1] = std::byte{1};
  CHECK(memory.data()[(size_t{1} << 40) - 1] == std::byte{1});
}

TEST_CASE("what cannot be reserved is an error that says how much it was") {
  for (const size_t bytes : {SIZE_MAX, SIZE_MAX - kHugePageBytes, SIZE_MAX / 2}) {
    CHECK(error_of([&] { ReservedMemory memory(bytes); }) ==
          "no_memory: cannot reserve " + std::to_string(bytes) + " bytes of memory for experts");
  }
}

TEST_CASE("reserved memory moves with its contents") {
  ReservedMemory first(kPageBytes);
  std::byte* data = first.data();
  data[0] = std::byte{7};
  ReservedMemory second(std::move(first));
  CHECK(second.data() == data);
  ReservedMemory third(kPageBytes);
  third = std::move(second);
  CHECK(third.data()[0] == std::byte{7});
}

}  // namespace runahead::test
