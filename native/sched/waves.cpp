#include "sched/waves.h"

#include <algorithm>

#include "base/error.h"

namespace runahead {

Waves::Waves(ExpertCache& cache)
    : cache_(cache), experts_(static_cast<size_t>(cache.geometry().n_expert)) {}

std::span<const IssuedExpert> Waves::begin(RequestId request, int32_t layer,
                                           std::span<const int32_t> experts) {
  CHECK(finished());
  request_ = request;
  layer_ = layer;
  CHECK(cache_.capacity(cache_.class_of({layer, 0})) >= 1);
  order_.assign(experts.begin(), experts.end());
  queue_.clear();
  queue_head_ = 0;
  issued_.clear();
  for (const int32_t expert : order_) {
    CHECK(at(expert).state == State::kUnused);
    at(expert).state = State::kWaiting;
  }
  n_waiting_ = static_cast<int32_t>(order_.size());
  for (const int32_t expert : order_) {
    if (cache_.residency({layer_, expert}) != Residency::kAbsent) {
      pin(expert);
    }
  }
  pin_more();
  return issued_;
}

std::span<const IssuedExpert> Waves::issued() const {
  return issued_;
}

std::optional<Fetch> Waves::next_fetch() {
  return has_fetch() ? std::optional(queue_[queue_head_++]) : std::nullopt;
}

bool Waves::has_fetch() const {
  return queue_head_ < queue_.size();
}

int32_t Waves::n_queued() const {
  return static_cast<int32_t>(queue_.size() - queue_head_);
}

bool Waves::fetch_finished(ExpertId id) {
  issued_.clear();
  cache_.publish(id);
  if (!waits_for(id)) {
    pin_more();  // a fetch of nobody has made its slot available
    return false;
  }
  at(id.expert).ready = true;
  ++n_ready_;
  return true;
}

bool Waves::fetch_failed(ExpertId id) {
  issued_.clear();
  cache_.fail(id);  // forgets our pin
  if (!waits_for(id)) {
    pin_more();
    return false;
  }
  at(id.expert).state = State::kUnused;
  abandon();
  return true;
}

void Waves::abandon() {
  for (const int32_t expert : order_) {
    if (at(expert).state == State::kPinned) {
      cache_.release({layer_, expert});
    }
    if (at(expert).state != State::kRunning) {
      at(expert) = {};
    }
  }
  for (; queue_head_ < queue_.size(); ++queue_head_) {
    cache_.withdraw(queue_[queue_head_].id);
  }
  std::erase_if(order_, [&](int32_t expert) { return at(expert).state == State::kUnused; });
  n_waiting_ = 0;
  n_ready_ = 0;
}

std::optional<Waves::Wave> Waves::next_wave() {
  if (n_ready_ == 0) {
    return std::nullopt;
  }
  Wave wave;
  for (const int32_t expert : order_) {
    if (at(expert).state == State::kPinned && at(expert).ready) {
      at(expert).state = State::kRunning;
      wave.experts.push_back(expert);
      wave.slots.push_back(*cache_.slot_of({layer_, expert}));
    }
  }
  n_ready_ = 0;
  return wave;
}

void Waves::finish_wave(const Wave& wave) {
  issued_.clear();
  for (const int32_t expert : wave.experts) {
    CHECK(at(expert).state == State::kRunning);
    at(expert) = {};
    cache_.release({layer_, expert});
  }
  std::erase_if(order_, [&](int32_t expert) { return at(expert).state == State::kUnused; });
  pin_more();
}

bool Waves::finished() const {
  return order_.empty();
}

bool Waves::waits_for(ExpertId id) const {
  const Expert& expert = experts_[static_cast<size_t>(id.expert)];
  return id.layer == layer_ && expert.state == State::kPinned && !expert.ready;
}

bool Waves::pin(int32_t expert) {
  const ExpertId id{layer_, expert};
  const std::optional<Acquired> acquired = cache_.acquire(id);
  if (!acquired) {
    return false;
  }
  Expert& e = at(expert);
  e.state = State::kPinned;
  e.ready = acquired->outcome == Outcome::kHit;
  n_ready_ += e.ready ? 1 : 0;
  --n_waiting_;
  if (acquired->outcome == Outcome::kMiss) {
    queue_.push_back({id, acquired->slot, request_});
  }
  issued_.push_back({id, *acquired});
  return true;
}

void Waves::pin_more() {
  for (const int32_t expert : order_) {
    if (n_waiting_ == 0) {
      return;
    }
    if (at(expert).state == State::kWaiting && !pin(expert)) {
      return;
    }
  }
}

}  // namespace runahead
