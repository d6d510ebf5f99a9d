// cache/expert_cache.h
//
// ExpertCache decides which experts live in which slots. It is bookkeeping only: no memory, no I/O,
// no clock, so the simulator runs the same code.
//
// An expert is absent, loading or ready. A loading or pinned expert is never evicted, so a job that
// was admitted always gets its slots. Pins are reference counts: one per job and expert. An expert is
// never fetched twice at the same time: a second job joins the pending fetch.
//
// Always true: per class, slots in use <= capacity, unless pinned experts wait for their release after
// a shrink; every slot in use holds exactly one expert; pins > 0 or loading => not evictable.
//
// Not thread-safe: the owner calls it under its lock.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "cache/eviction.h"

namespace runahead {

struct CacheGeometry {
  int32_t n_layer = 0;
  int32_t n_expert = 0;
  std::vector<int32_t> class_of_layer;   // [n_layer], -1: no experts
  std::vector<int32_t> max_slots;        // [n_class], slot ids are 0 .. max_slots - 1
};

enum class Residency : uint8_t { kAbsent, kLoading, kReady };
enum class Outcome : uint8_t { kHit, kJoined, kMiss };

struct Acquired {
  Outcome outcome;
  SlotId slot;
  std::optional<ExpertId> evicted;  // who gave up the slot, for a miss
};

struct CacheCounters {
  uint64_t hits = 0;
  uint64_t misses = 0;    // demand fetches started
  uint64_t joined = 0;
  uint64_t evicted = 0;
  uint64_t prefetched = 0;
  uint64_t wasted = 0;    // prefetched, never used before eviction
  uint64_t failed = 0;
};

class ExpertCache {
 public:
  // Capacities start at 0; call set_capacity for each class.
  ExpertCache(CacheGeometry geometry, std::string eviction);

  // Pins `id`. On a miss a slot is reserved (evicting if needed), the expert is kLoading and the caller
  // must see that it is fetched. nullopt: every slot of the class is pinned or loading; nothing changed.
  [[nodiscard]] std::optional<Acquired> acquire(ExpertId id);
  // As a miss of acquire() without a pin, for a predicted expert. nullopt when it is not absent or no
  // slot can be had. The expert stays kLoading (so it is not evicted) until published.
  [[nodiscard]] std::optional<Acquired> prefetch(ExpertId id);
  // Drops one pin. A ready expert without pins becomes evictable.
  void release(ExpertId id);
  // The bytes of a loading expert have arrived.
  void publish(ExpertId id);
  // The fetch failed: the expert is absent again and its slot is free at once, whatever its pins; its
  // pins are forgotten, so the jobs that held them must not release it.
  void fail(ExpertId id);

  // Slots of class `c` that may be in use, clamped to max_slots. Shrinking evicts unpinned experts at
  // once and pinned or loading ones when they are released. Returns the evicted experts with their slots
  // (so the owner can give the memory back).
  struct Vacated { ExpertId id; SlotId slot; };
  std::vector<Vacated> set_capacity(int32_t c, int32_t slots);
  // Called for every slot freed later because of an earlier shrink.
  std::function<void(int32_t c, SlotId)> on_slot_given_up;

  // Forgets all residents that are unpinned and not loading, and all use counts: a cold cache.
  void clear();
  // Replaces the eviction policy; use counts start anew. REQUIRES: nothing pinned or loading.
  void set_eviction(const std::string& name);

  [[nodiscard]] Residency residency(ExpertId id) const;
  [[nodiscard]] std::optional<SlotId> slot_of(ExpertId id) const;  // loading or ready
  [[nodiscard]] int32_t pins(ExpertId id) const;
  [[nodiscard]] int32_t n_class() const;
  [[nodiscard]] int32_t class_of(ExpertId id) const;
  [[nodiscard]] int32_t capacity(int32_t c) const;
  [[nodiscard]] int32_t in_use(int32_t c) const;
  // Slots that acquire() could hand out now: free + evictable.
  [[nodiscard]] int32_t available(int32_t c) const;
  [[nodiscard]] const CacheCounters& counters() const;
  [[nodiscard]] const CacheGeometry& geometry() const;

  // Checks every invariant in O(slots); the engine calls it when idle, tests after every operation.
  void check_integrity() const;

 private:
  struct Impl;
  // (members to be laid out by the implementation)
};

}  // namespace runahead
