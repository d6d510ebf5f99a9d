// fetch/link_pace.h
//
// LinkPace emulates a link of a given speed that serves one read after the other: a read reserves
// the time its bytes take, and is not over before that time has passed. Not thread-safe.

#pragma once

#include <algorithm>
#include <cstdint>

namespace runahead {

class LinkPace {
 public:
  explicit LinkPace(uint64_t bytes_per_s) : bytes_per_s_(bytes_per_s) {}

  // 0: as fast as it goes. Reads that have reserved keep their times.
  void set_rate(uint64_t bytes_per_s) { bytes_per_s_ = bytes_per_s; }
  [[nodiscard]] bool paced() const { return bytes_per_s_ > 0; }

  // When a read of `bytes` that begins now may be over.
  [[nodiscard]] int64_t reserve(uint64_t bytes, int64_t now_ns) {
    if (bytes_per_s_ == 0) {
      return now_ns;
    }
    const double ns = static_cast<double>(bytes) * 1e9 / static_cast<double>(bytes_per_s_);
    free_ns_ = std::max(now_ns, free_ns_) + static_cast<int64_t>(ns);
    return free_ns_;
  }

 private:
  uint64_t bytes_per_s_;
  int64_t free_ns_ = 0;  // when the link has served all reservations
};

}  // namespace runahead
