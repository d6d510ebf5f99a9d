// base/clock.h: the one clock of traces and pacing, CLOCK_MONOTONIC in nanoseconds.

#pragma once

#include <chrono>
#include <cstdint>

namespace runahead {

inline int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace runahead
