#include "sim/timeline.h"

#include <cmath>

namespace runahead {
namespace {

int64_t to_ns(double ms) {
  return std::llround(ms * 1e6);
}

Record record_of(Event event, double begin_ms, double end_ms, int32_t step) {
  Record r;
  r.event = static_cast<uint8_t>(event);
  r.begin_ns = to_ns(begin_ms);
  r.end_ns = to_ns(end_ms);
  r.step = step;
  return r;
}

Event event_of(const Timeline::Interval& interval) {
  switch (interval.what) {
    case Timeline::What::kFront: return Event::kFront;
    case Timeline::What::kGroup: return Event::kGroup;
    case Timeline::What::kHead: return Event::kHead;
    case Timeline::What::kFetch: break;
  }
  return interval.prefetch ? Event::kPrefetch : Event::kFetch;
}

Record record_of(const Timeline::Interval& interval) {
  Record r = record_of(event_of(interval), interval.begin_ms, interval.end_ms, interval.step);
  r.lane = static_cast<uint8_t>(interval.lane);
  r.layer = interval.what == Timeline::What::kFront ? 0 : interval.layer;
  if (interval.what == Timeline::What::kFetch) {
    r.expert = interval.expert;
    r.request = interval.requests.front();
    r.a = static_cast<int64_t>(interval.bytes);
    r.b = interval.slot;
    return r;
  }
  r.a = static_cast<int64_t>(interval.requests.size());
  if (interval.what == Timeline::What::kGroup) {
    for (const int32_t request : interval.requests) {
      r.b |= int64_t{1} << (request % 32);
    }
  }
  return r;
}

Record record_of(const Timeline::Decision& decision, int32_t n_expert) {
  const Acquired& acquired = decision.issued.acquired;
  const Event event = acquired.outcome == Outcome::kHit      ? Event::kHit
                      : acquired.outcome == Outcome::kJoined ? Event::kJoin
                                                             : Event::kMiss;
  Record r = record_of(event, decision.at_ms, decision.at_ms, decision.step);
  r.request = decision.request;
  r.layer = decision.issued.id.layer;
  r.expert = decision.issued.id.expert;
  r.a = to_int(acquired.slot);
  r.b = acquired.evicted ? int64_t{acquired.evicted->layer} * n_expert + acquired.evicted->expert
                         : -1;
  return r;
}

}  // namespace

std::vector<Record> to_records(const Timeline& timeline, int32_t n_expert) {
  std::vector<Record> records;
  records.reserve(timeline.intervals.size() + timeline.decisions.size() + timeline.steps.size());
  for (const Timeline::Step& step : timeline.steps) {
    Record r = record_of(Event::kStep, step.begin_ms, step.end_ms, step.step);
    r.a = step.n_request;
    r.b = step.n_group;
    records.push_back(r);
  }
  for (const Timeline::Interval& interval : timeline.intervals) {
    records.push_back(record_of(interval));
  }
  for (const Timeline::Decision& decision : timeline.decisions) {
    records.push_back(record_of(decision, n_expert));
  }
  return records;
}

}  // namespace runahead
