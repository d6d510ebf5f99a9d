// exec/tracer.h: the engine thread's trace ring, with the fields that most of its records share.

#pragma once

#include <cstdint>
#include <span>

#include "base/clock.h"
#include "sched/scheduler.h"
#include "trace/ring.h"

namespace runahead {

class Tracer {
 public:
  explicit Tracer(size_t capacity) : ring_(capacity) {}

  [[nodiscard]] Ring& ring() { return ring_; }
  void set_step(int32_t step) { step_ = step; }

  void span(Event event, int64_t begin_ns, int32_t request, int32_t layer, int64_t a, int64_t b) {
    Record r;
    r.event = static_cast<uint8_t>(event);
    r.begin_ns = begin_ns;
    r.end_ns = now_ns();
    r.step = step_;
    r.request = request;
    r.layer = layer;
    r.a = a;
    r.b = b;
    ring_.push(r);
  }

  // One record per expert that a job asked the cache for.
  void cache_decisions(RequestId request, std::span<const IssuedExpert> issued, int32_t n_expert) {
    const int64_t now = now_ns();
    for (const IssuedExpert& expert : issued) {
      Record r;
      r.event = static_cast<uint8_t>(event_of(expert.acquired.outcome));
      r.begin_ns = r.end_ns = now;
      r.step = step_;
      r.request = to_int(request);
      r.layer = expert.id.layer;
      r.expert = expert.id.expert;
      r.a = to_int(expert.acquired.slot);
      const auto& evicted = expert.acquired.evicted;
      r.b = evicted ? int64_t{evicted->layer} * n_expert + evicted->expert : -1;
      ring_.push(r);
    }
  }

 private:
  static Event event_of(Outcome outcome) {
    return outcome == Outcome::kHit      ? Event::kHit
           : outcome == Outcome::kJoined ? Event::kJoin
                                         : Event::kMiss;
  }

  Ring ring_;
  int32_t step_ = -1;
};

}  // namespace runahead
