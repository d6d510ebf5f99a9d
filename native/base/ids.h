// base/ids.h
//
// Names of things that cross rooms. Layers are plain ints called `layer`; only layers that have
// experts appear in an ExpertId.

#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace runahead {

// One expert FFN of one layer.
struct ExpertId {
  int32_t layer = -1;
  int32_t expert = -1;  // index within the layer
  auto operator<=>(const ExpertId&) const = default;
};

// A request, unique for the life of an engine.
enum class RequestId : int32_t {};

// A place in the slot pool of one slot class.
enum class SlotId : int32_t {};

constexpr int32_t to_int(RequestId id) {
  return static_cast<int32_t>(id);
}
constexpr int32_t to_int(SlotId id) {
  return static_cast<int32_t>(id);
}

}  // namespace runahead

template <>
struct std::hash<runahead::ExpertId> {
  size_t operator()(const runahead::ExpertId& id) const noexcept {
    return (static_cast<size_t>(static_cast<uint32_t>(id.layer)) << 32) |
           static_cast<uint32_t>(id.expert);
  }
};
