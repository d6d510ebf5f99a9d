// cache/eviction.h
//
// Eviction chooses which unpinned resident expert gives up its slot. One instance serves one slot
// class. Called by the owner of the ExpertCache only, under the same lock.
//
// It knows only the experts that may be chosen now; who is pinned or loading is the cache's matter.
// "Recently used" counts from the end of a use: an expert is in use while it is pinned.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "base/ids.h"

namespace runahead {

class Eviction {
 public:
  virtual ~Eviction() = default;

  // A job asked for `id` (hit, join or miss): once per job, whether or not it is resident.
  // REQUIRES: `id` is not evictable (the cache pins first).
  virtual void used(ExpertId id) = 0;
  // `id` is resident and unpinned: it may be chosen from now on.
  virtual void evictable(ExpertId id, SlotId slot) = 0;
  // `id` was pinned or leaves: it may not be chosen.
  virtual void not_evictable(ExpertId id, SlotId slot) = 0;
  // The expert to evict; it stays evictable until not_evictable() is called.
  // REQUIRES: some expert is evictable. Ties go to the least recently used.
  [[nodiscard]] virtual ExpertId victim() const = 0;

  // For those policies that want to know.
  // victim() may follow: a slot is wanted for `id`.
  virtual void makes_room(ExpertId /*id*/) {}
  // A job asks for `id`, which is absent; victim() may be next, to make room for it.
  virtual void missed(ExpertId /*id*/) {}
  // `id` leaves the cache: evicted (not_evictable() follows), or its fetch failed or was withdrawn.
  virtual void left(ExpertId /*id*/) {}
  // All requests begin their next pass through the layers.
  virtual void step_started() {}
  // Some request will need `id` in this step with `probability` (0 .. 1). `id` may be absent,
  // loading, pinned or evictable.
  virtual void predicted(ExpertId /*id*/, float /*probability*/) {}
};

// Makes the instance of one slot class.
using EvictionFactory = std::function<std::unique_ptr<Eviction>(int32_t n_layer, int32_t n_expert)>;

// The names make_eviction() takes, in the order they are listed to people.
[[nodiscard]] std::span<const std::string_view> eviction_names();

// "lfu": fewest uses since the engine opened, absent experts keep their counts (the paper's).
// "lru": longest unused. "lfuda": LFU that lets old favourites go. "least-stale": SpecMD's.
// "layer-lru": LRU per layer. "finemoe": FineMoE's. Each one's header says more. Throws
// Error(kInvalid) naming the known ones for another name.
[[nodiscard]] std::unique_ptr<Eviction> make_eviction(std::string_view name, int32_t n_layer,
                                                      int32_t n_expert);

}  // namespace runahead
