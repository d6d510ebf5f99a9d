// store/checksum.h: XXH3, 64 bits: at memory speed, so that checking costs little beside reading.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace runahead {

[[nodiscard]] uint64_t checksum(std::span<const std::byte> bytes);

}  // namespace runahead
