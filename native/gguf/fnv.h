// gguf/fnv.h: the 64-bit FNV-1a hash. It tells files apart; it does not resist forgery.

#pragma once

#include <cstdint>
#include <cstring>

namespace runahead {

constexpr uint64_t kFnvStart = 0xcbf29ce484222325;

inline uint64_t fnv1a(uint64_t hash, const void* data, uint64_t size) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  for (uint64_t i = 0; i < size; ++i) {
    hash = (hash ^ bytes[i]) * 0x100000001b3;
  }
  return hash;
}

}  // namespace runahead
