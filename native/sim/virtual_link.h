// sim/virtual_link.h
//
// VirtualLink is the link on a virtual clock: up to n_readers reads at once, missing experts and
// prefetches alike. Each first waits for the latency; then it shares the bandwidth evenly with the
// others that transfer, or (CostModel::link_in_order) has all of it as soon as those that began
// before have ended.
//
// Time moves only in advance(), by at most next_change_ms(): within that time no rate changes.

#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "sched/scheduler.h"
#include "sim/cost_model.h"

namespace runahead {

// Ends that differ by less are the same moment, so that rounding cannot order equal durations.
constexpr double kSameMomentMs = 1e-9;

class VirtualLink {
 public:
  explicit VirtualLink(const CostModel& cost);

  struct Read {
    Fetch fetch;
    int32_t step;  // as given to start()
    double begin_ms;
    int32_t reader;
  };

  [[nodiscard]] bool has_free_reader() const { return n_active_ < readers_.size(); }
  [[nodiscard]] bool is_busy() const { return n_active_ > 0; }
  // Some read is past its latency: its bytes flow.
  [[nodiscard]] bool is_transferring() const { return n_transferring() > 0; }
  // REQUIRES: has_free_reader().
  void start(const Fetch& fetch, uint64_t bytes, int32_t step, double now_ms);
  // Until a read ends or begins to transfer; infinity when idle.
  [[nodiscard]] double next_change_ms() const;
  // Appends the reads that end now, in the order of readers. REQUIRES: ms <= next_change_ms().
  void advance(double ms, std::vector<Read>& ended);

 private:
  struct Reader {
    bool active = false;
    uint64_t number = 0;  // of its read
    double latency_left_ms = 0;
    double bytes_left = 0;
    Read read{};
    [[nodiscard]] bool transfers() const { return active && latency_left_ms <= 0; }
  };
  [[nodiscard]] int64_t n_transferring() const;
  // Which reader has the bandwidth to itself; nullptr: those that transfer share it.
  [[nodiscard]] const Reader* only() const;
  // Until the latency or the transfer ends, `each` bytes per ms for those that share.
  [[nodiscard]] double left_ms(const Reader& reader, const Reader* only, double each) const;
  [[nodiscard]] double share() const;

  double bytes_per_ms_;
  double latency_ms_;
  bool in_order_;
  uint64_t n_read_ = 0;
  size_t n_active_ = 0;
  std::vector<Reader> readers_;
};

}  // namespace runahead
