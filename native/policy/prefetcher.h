// policy/prefetcher.h
//
// A Prefetcher predicts, whenever a job has been routed, which experts its request will need in
// later layers. It only says what it expects and how surely; the Scheduler reads the nearest layer
// first and there the surest, when no missing expert waits, and drops what has been overtaken by
// the true routing.
//
// Pure: no thread, clock or I/O, so that the simulator runs the same code. Called by the owner of
// the Scheduler, under its lock.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/ids.h"

namespace runahead {

struct ModelShape {
  int32_t n_layer = 0;
  int32_t n_expert = 0;       // per layer
  int32_t n_expert_used = 0;  // per token and layer
};

// Which scores a Prefetcher wants to see; the graphs compute no others.
struct ScoreNeeds {
  bool probabilities = false;
  int32_t n_lookahead = 0;
  bool operator==(const ScoreNeeds&) const = default;
};

// What a router said about one token at `layer`. Spans live during the call; each is empty unless
// it was needed.
struct RoutedJob {
  RequestId request{};
  int32_t layer = 0;
  std::span<const int32_t> experts;      // [n_expert_used] chosen, distinct
  std::span<const float> probabilities;  // [n_expert] softmax of this layer's router
  // [min(n_lookahead, n_layer - 1 - layer), n_expert]: row d is the softmax of the router of layer
  // + 1 + d, applied to what the router of `layer` has just read.
  std::span<const float> lookahead;
  int32_t n_waiting = 0;  // missing experts that wait for a reader, those of this job included
};

struct Prediction {
  ExpertId id;
  float score = 0;    // 0 .. 1, the chance that the request needs it
  bool fetch = true;  // false: too unlikely to be read, but evictions may want to know
};

class Prefetcher {
 public:
  virtual ~Prefetcher() = default;

  [[nodiscard]] virtual ScoreNeeds needs() const = 0;
  virtual void step_started(std::span<const RequestId> /*requests*/) {}
  // What the job's request may need in layers after job.layer; experts that are resident may be
  // among them. Valid until the next call.
  [[nodiscard]] virtual std::span<const Prediction> routed(const RoutedJob& job) = 0;
  // A read has ended, of a predicted expert or of a missing one.
  virtual void fetched(ExpertId /*id*/, bool /*prefetch*/) {}
};

// The names make_prefetcher() takes, in the order they are listed to people; the first is "none".
[[nodiscard]] std::span<const std::string_view> prefetcher_names();

// nullptr for "none". Throws Error(kInvalid) naming the known ones for another name.
[[nodiscard]] std::unique_ptr<Prefetcher> make_prefetcher(std::string_view name,
                                                          const ModelShape& shape);

}  // namespace runahead
