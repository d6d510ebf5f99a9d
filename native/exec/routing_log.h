// exec/routing_log.h
//
// RoutingLog keeps what the routers of decode steps said, for studies of caching and prediction
// (`runahead record`). Off at first. The engine thread adds, any thread switches and takes.
//
// Bounded: rows beyond kMaxBytes are counted instead of kept.

#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "policy/prefetcher.h"

namespace runahead {

struct RoutingRows {
  std::vector<int32_t> step, request, layer;  // [n]
  std::vector<int32_t> experts;               // [n, n_expert_used]
  std::vector<float> probabilities;           // [n, n_expert]
  std::vector<float> lookahead;               // [n, n_lookahead, n_expert], 0 beyond the last layer
  int32_t n_lookahead = 0;
  uint64_t dropped = 0;  // rows that found no room
};

class RoutingLog {
 public:
  explicit RoutingLog(const ModelShape& shape) : shape_(shape) {}

  // Routers of so many later layers are recorded, too; -1: off. Forgets what has not been taken.
  void record(int32_t n_lookahead);
  // What add() is to be given.
  [[nodiscard]] ScoreNeeds needs() const;
  void add(int32_t step, const RoutedJob& job);
  [[nodiscard]] RoutingRows take();

 private:
  static constexpr size_t kMaxBytes = size_t{512} << 20;

  const ModelShape shape_;
  std::atomic<int32_t> n_lookahead_{-1};
  std::mutex mutex_;
  RoutingRows rows_;  // guarded by mutex_
};

}  // namespace runahead
