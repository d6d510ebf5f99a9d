// cache/expert_cache.h
//
// ExpertCache decides which experts live in which slots. It is bookkeeping only: no memory, no I/O,
// no clock, so the simulator runs the same code.
//
// An expert is absent, loading or ready. A loading or pinned expert is never evicted, so a job that
// was admitted always gets its slots. Pins are reference counts: one per job and expert. An expert
// is never fetched twice at the same time: a second job joins the pending fetch.
//
// Always true: per class, slots in use <= capacity, unless pinned or loading experts wait for their
// release after a shrink, and then nothing is evictable; every slot in use holds exactly one
// expert; pins > 0 or loading => not evictable.
//
// Of the slots not in use, those that have held an expert are idle: they may still have memory, and
// are handed out first. Slots in use plus idle ones never exceed the capacity for longer than pins
// and loads force them to, so memory follows the capacity.
//
// All operations but set_capacity, clear, set_eviction and check_integrity are O(log slots +
// layers) and allocate nothing. Not thread-safe: the owner calls it under its
// lock.

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
  std::vector<int32_t> class_of_layer;  // [n_layer], -1: no experts
  std::vector<int32_t> max_slots;       // [n_class], slot ids are 0 .. max_slots - 1
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
  uint64_t misses = 0;  // demand fetches queued
  uint64_t joined = 0;
  uint64_t evicted = 0;  // for a miss or by a shrink
  uint64_t prefetched = 0;
  // Prefetched and then used in the same step, be it while still loading. The paper calls these
  // needed, and all others wasted.
  uint64_t prefetch_used = 0;
  uint64_t failed = 0;
};

class ExpertCache {
 public:
  // Capacities start at 0; call set_capacity for each class. Throws Error(kInvalid) for an unknown
  // eviction.
  ExpertCache(CacheGeometry geometry, const std::string& eviction);
  // For an eviction that is not in the list; it is made once per class, and anew by clear().
  ExpertCache(CacheGeometry geometry, EvictionFactory eviction);

  // Pins `id`. On a miss a slot is reserved (evicting if needed), the expert is kLoading and the
  // caller must see that it is fetched. nullopt: every slot that the capacity allows is pinned or
  // loading; nothing changed. While a shrink waits for releases, resident experts can still be
  // pinned.
  [[nodiscard]] std::optional<Acquired> acquire(ExpertId id);
  // Pins `id` when it is ready, until release(), so that it stays for a job that is about to
  // acquire it. No use: neither counters nor the eviction policy take it for one. False: it is not
  // ready.
  [[nodiscard]] bool hold(ExpertId id);
  // As a miss of acquire(), for a predicted expert. nullopt when it is not absent or no slot can be
  // had. It is kept, as if pinned, until let_prefetch_go(): whatever the eviction thinks of an
  // expert that nobody has used yet, it was read for jobs that are to come.
  [[nodiscard]] std::optional<Acquired> prefetch(ExpertId id);
  // Nothing happens when the expert is not kept (any more).
  void let_prefetch_go(ExpertId id);
  void let_all_prefetches_go();
  // Drops one pin. A ready expert without pins becomes evictable.
  void release(ExpertId id);
  // The bytes of a loading expert have arrived.
  void publish(ExpertId id);
  // The fetch failed: the expert is absent again and its slot is free at once, whatever its pins;
  // its pins are forgotten, so the jobs that held them must not release it.
  void fail(ExpertId id);
  // Nobody needs the expert any more and its read has not begun: absent again, its slot is free.
  // REQUIRES: loading and unpinned.
  void withdraw(ExpertId id);

  // All requests begin their next pass through the layers: a hint for the eviction policy, and what
  // earlier steps prefetched has been in vain by now.
  void step_started();
  // Another hint, cheap for a policy that takes none. Some request is expected to need `id` in this
  // step, with `probability` (0 .. 1).
  void predicted(ExpertId id, float probability);

  // Slots of class `c` that may be in use, clamped to 0 .. max_slots. Shrinking evicts unpinned
  // experts at once and pinned or loading ones when they are released. Returns the evicted experts
  // with their slots (so the owner can give the memory back).
  struct Vacated {
    ExpertId id;
    SlotId slot;
  };
  std::vector<Vacated> set_capacity(int32_t c, int32_t slots);
  // Called for every slot given up without being in that list: idle ones during set_capacity, and
  // those whose experts are released, published unpinned or failed after a shrink. Must not call
  // back into the cache.
  std::function<void(int32_t c, SlotId)> on_slot_given_up;

  // Forgets all residents that are unpinned and not loading, and all use counts: a cold cache.
  void clear();
  // Replaces the eviction policy; use counts start anew. Pinned and loading experts stay as they
  // are. Throws Error(kInvalid) for an unknown name, then nothing has changed.
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
  // Slots that no running job accounts for: of loading experts without a pin (left by a job that
  // was cancelled) until they arrive, and of prefetched ones that are kept.
  [[nodiscard]] int32_t lent(int32_t c) const;
  [[nodiscard]] const CacheCounters& counters() const;
  [[nodiscard]] const CacheGeometry& geometry() const;

  // Checks every invariant in O(experts); the engine calls it when idle, tests after every
  // operation.
  void check_integrity() const;

 private:
  struct Entry {
    int32_t slot = -1;
    int32_t pins = 0;
    Residency residency = Residency::kAbsent;
    bool kept = false;                // prefetched; one of the pins
    uint32_t unused_prefetch_of = 0;  // the step that prefetched it, until it is used; 0: none
  };
  struct Class {
    int32_t capacity = 0;
    int32_t in_use = 0;
    int32_t n_evictable = 0;
    int32_t n_unpinned_loading = 0;
    int32_t n_kept = 0;
    std::vector<int32_t> owner;      // [max_slots] layer * n_expert + expert, -1: not in use
    std::vector<int32_t> idle;       // stack
    std::vector<int32_t> untouched;  // stack; without memory
    std::unique_ptr<Eviction> eviction;
  };

  [[nodiscard]] size_t index_of(ExpertId id) const;
  [[nodiscard]] ExpertId id_of(int32_t index) const;
  [[nodiscard]] Entry& entry_of(ExpertId id) { return entries_[index_of(id)]; }
  [[nodiscard]] const Entry& entry_of(ExpertId id) const { return entries_[index_of(id)]; }
  [[nodiscard]] Class& class_for(ExpertId id);
  [[nodiscard]] const Class& class_at(int32_t c) const;
  [[nodiscard]] static bool is_evictable(const Entry& entry);

  // Gives `id` a slot and makes it kLoading, unpinned.
  [[nodiscard]] std::optional<Acquired> load(ExpertId id);
  // One pin more on an expert that is ready, or loading.
  void pin_ready(ExpertId id);
  void pin_loading(ExpertId id);
  // A ready expert has no pin any more: evictable, or evicted when a shrink waits for it.
  void let_go(ExpertId id);
  // An evictable expert becomes absent; its slot is in use without an owner until reused or
  // vacated.
  int32_t evict(Class& cls, ExpertId id);
  // A loading expert becomes absent, its slot free.
  void drop_loading(ExpertId id);
  // The slot is not in use any more: idle, or given up when over capacity.
  void vacate(int32_t c, int32_t slot);

  CacheGeometry geometry_;
  EvictionFactory make_eviction_;
  std::vector<Entry> entries_;  // [n_layer * n_expert]
  std::vector<Class> classes_;
  CacheCounters counters_;
  uint32_t step_ = 1;
};

}  // namespace runahead
