#include "sim/virtual_link.h"

#include <algorithm>

#include "base/error.h"

namespace runahead {

VirtualLink::VirtualLink(const CostModel& cost)
    : bytes_per_ms_(cost.link_bytes_per_s / 1e3),
      latency_ms_(cost.link_latency_ms),
      in_order_(cost.link_in_order),
      readers_(static_cast<size_t>(cost.n_readers)) {}

void VirtualLink::start(const Fetch& fetch, uint64_t bytes, int32_t step, double now_ms) {
  const auto free =
      std::find_if(readers_.begin(), readers_.end(), [](const Reader& r) { return !r.active; });
  CHECK(free != readers_.end());
  *free = {true,
           n_read_++,
           latency_ms_,
           static_cast<double>(bytes),
           {fetch, step, now_ms, static_cast<int32_t>(free - readers_.begin())}};
  ++n_active_;
}

double VirtualLink::next_change_ms() const {
  double next = std::numeric_limits<double>::infinity();
  const Reader* const alone = only();
  const double each = share();
  for (const Reader& reader : readers_) {
    if (reader.active) {
      next = std::min(next, left_ms(reader, alone, each));
    }
  }
  return next;
}

void VirtualLink::advance(double ms, std::vector<Read>& ended) {
  const Reader* const alone = only();
  const double each = share();
  for (Reader& reader : readers_) {
    if (!reader.active) {
      continue;
    }
    const bool change = left_ms(reader, alone, each) <= ms + kSameMomentMs;
    if (reader.latency_left_ms > 0) {
      reader.latency_left_ms = change ? 0 : reader.latency_left_ms - ms;
    } else if (change) {
      reader.active = false;
      --n_active_;
      ended.push_back(reader.read);
    } else if (alone == nullptr || alone == &reader) {
      reader.bytes_left -= each * ms;
    }
  }
}

int64_t VirtualLink::n_transferring() const {
  return std::count_if(readers_.begin(), readers_.end(),
                       [](const Reader& r) { return r.transfers(); });
}

const VirtualLink::Reader* VirtualLink::only() const {
  const Reader* first = nullptr;
  for (const Reader& reader : readers_) {
    if (in_order_ && reader.transfers() && (first == nullptr || reader.number < first->number)) {
      first = &reader;
    }
  }
  return first;
}

double VirtualLink::share() const {
  const int64_t n = in_order_ ? 1 : n_transferring();
  return bytes_per_ms_ / static_cast<double>(std::max<int64_t>(n, 1));
}

double VirtualLink::left_ms(const Reader& reader, const Reader* only, double each) const {
  if (reader.latency_left_ms > 0) {
    return reader.latency_left_ms;
  }
  return only == nullptr || only == &reader ? reader.bytes_left / each
                                            : std::numeric_limits<double>::infinity();
}

}  // namespace runahead
