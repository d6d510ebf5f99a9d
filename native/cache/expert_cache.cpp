#include "cache/expert_cache.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace runahead {
namespace {

EvictionFactory named(const std::string& eviction) {
  return [eviction](int32_t n_layer, int32_t n_expert) {
    return make_eviction(eviction, n_layer, n_expert);
  };
}

}  // namespace

ExpertCache::ExpertCache(CacheGeometry geometry, const std::string& eviction)
    : ExpertCache(std::move(geometry), named(eviction)) {}

ExpertCache::ExpertCache(CacheGeometry geometry, EvictionFactory eviction)
    : geometry_(std::move(geometry)),
      make_eviction_(std::move(eviction)),
      entries_(static_cast<size_t>(geometry_.n_layer) * static_cast<size_t>(geometry_.n_expert)),
      classes_(geometry_.max_slots.size()) {
  CHECK(geometry_.class_of_layer.size() == static_cast<size_t>(geometry_.n_layer));
  for (const int32_t c : geometry_.class_of_layer) {
    CHECK(c >= -1 && c < n_class());
  }
  for (size_t c = 0; c < classes_.size(); ++c) {
    Class& cls = classes_[c];
    const int32_t n_slot = geometry_.max_slots[c];
    CHECK(n_slot >= 0);
    cls.owner.assign(static_cast<size_t>(n_slot), -1);
    cls.idle.reserve(static_cast<size_t>(n_slot));
    cls.untouched.reserve(static_cast<size_t>(n_slot));
    for (int32_t slot = n_slot - 1; slot >= 0; --slot) {
      cls.untouched.push_back(slot);  // slot 0 is handed out first
    }
    cls.eviction = make_eviction_(geometry_.n_layer, geometry_.n_expert);
  }
}

std::optional<Acquired> ExpertCache::acquire(ExpertId id) {
  Class& cls = class_for(id);
  Entry& entry = entry_of(id);
  Acquired acquired{Outcome::kMiss, SlotId{entry.slot}, std::nullopt};
  switch (entry.residency) {
    case Residency::kReady:
      pin_ready(id);
      acquired.outcome = Outcome::kHit;
      ++counters_.hits;
      break;
    case Residency::kLoading:
      pin_loading(id);
      acquired.outcome = Outcome::kJoined;
      ++counters_.joined;
      break;
    case Residency::kAbsent: {
      cls.eviction->missed(id);
      const std::optional<Acquired> loaded = load(id);
      if (!loaded) {
        return std::nullopt;
      }
      pin_loading(id);
      acquired = *loaded;
      ++counters_.misses;
      break;
    }
  }
  counters_.prefetch_used += entry.unused_prefetch_of == step_ ? 1 : 0;
  entry.unused_prefetch_of = 0;
  cls.eviction->used(id);
  return acquired;
}

bool ExpertCache::hold(ExpertId id) {
  Entry& entry = entry_of(id);
  if (entry.residency != Residency::kReady) {
    return false;
  }
  pin_ready(id);
  return true;
}

std::optional<Acquired> ExpertCache::prefetch(ExpertId id) {
  if (residency(id) != Residency::kAbsent) {
    return std::nullopt;
  }
  const std::optional<Acquired> loaded = load(id);
  if (loaded) {
    Class& cls = class_for(id);
    Entry& entry = entry_of(id);
    entry.unused_prefetch_of = step_;
    entry.kept = true;
    entry.pins = 1;
    ++cls.n_kept;
    --cls.n_unpinned_loading;
    ++counters_.prefetched;
  }
  return loaded;
}

void ExpertCache::let_prefetch_go(ExpertId id) {
  Entry& entry = entry_of(id);
  if (entry.kept) {
    entry.kept = false;
    --class_for(id).n_kept;
    release(id);
  }
}

void ExpertCache::let_all_prefetches_go() {
  for (size_t i = 0; i < entries_.size(); ++i) {
    let_prefetch_go(id_of(static_cast<int32_t>(i)));
  }
}

void ExpertCache::release(ExpertId id) {
  Entry& entry = entry_of(id);
  CHECK(entry.pins > 0);
  if (--entry.pins > 0) {
    return;
  }
  if (entry.residency == Residency::kLoading) {
    ++class_for(id).n_unpinned_loading;
  } else {
    let_go(id);
  }
}

void ExpertCache::publish(ExpertId id) {
  Entry& entry = entry_of(id);
  CHECK(entry.residency == Residency::kLoading);
  entry.residency = Residency::kReady;
  if (entry.pins == 0) {
    --class_for(id).n_unpinned_loading;
    let_go(id);
  }
}

void ExpertCache::fail(ExpertId id) {
  ++counters_.failed;
  drop_loading(id);
}

void ExpertCache::withdraw(ExpertId id) {
  CHECK(pins(id) == 0);
  drop_loading(id);
}

void ExpertCache::step_started() {
  ++step_;
  for (Class& cls : classes_) {
    cls.eviction->step_started();
  }
}

void ExpertCache::predicted(ExpertId id, float probability) {
  class_for(id).eviction->predicted(id, probability);
}

std::vector<ExpertCache::Vacated> ExpertCache::set_capacity(int32_t c, int32_t slots) {
  CHECK(c >= 0 && c < n_class());
  Class& cls = classes_[static_cast<size_t>(c)];
  cls.capacity = std::clamp(slots, 0, geometry_.max_slots[static_cast<size_t>(c)]);
  // Idle slots go first: they cost nothing.
  while (!cls.idle.empty() && cls.in_use + static_cast<int32_t>(cls.idle.size()) > cls.capacity) {
    const int32_t slot = cls.idle.back();
    cls.idle.pop_back();
    cls.untouched.push_back(slot);
    if (on_slot_given_up) {
      on_slot_given_up(c, SlotId{slot});
    }
  }
  std::vector<Vacated> vacated;
  while (cls.in_use > cls.capacity && cls.n_evictable > 0) {
    const ExpertId victim = cls.eviction->victim();
    const int32_t slot = evict(cls, victim);
    --cls.in_use;
    cls.untouched.push_back(slot);
    vacated.push_back({victim, SlotId{slot}});
  }
  return vacated;
}

void ExpertCache::clear() {
  for (Class& cls : classes_) {
    while (cls.n_evictable > 0) {
      const ExpertId id = cls.eviction->victim();
      const Entry& entry = entry_of(id);
      cls.eviction->not_evictable(id, SlotId{entry.slot});
      --cls.n_evictable;
      --cls.in_use;
      cls.owner[static_cast<size_t>(entry.slot)] = -1;
      cls.idle.push_back(entry.slot);
      entry_of(id) = {};
    }
    cls.eviction = make_eviction_(geometry_.n_layer, geometry_.n_expert);
  }
}

void ExpertCache::set_eviction(const std::string& name) {
  EvictionFactory make = named(name);
  for (Class& cls : classes_) {
    std::unique_ptr<Eviction> next = make(geometry_.n_layer, geometry_.n_expert);
    for (int32_t i = 0; i < cls.n_evictable; ++i) {
      const ExpertId id = cls.eviction->victim();
      const SlotId slot{entry_of(id).slot};
      cls.eviction->not_evictable(id, slot);
      next->evictable(id, slot);
    }
    cls.eviction = std::move(next);
  }
  make_eviction_ = std::move(make);
}

Residency ExpertCache::residency(ExpertId id) const {
  return entry_of(id).residency;
}

std::optional<SlotId> ExpertCache::slot_of(ExpertId id) const {
  const Entry& entry = entry_of(id);
  return entry.slot < 0 ? std::nullopt : std::optional(SlotId{entry.slot});
}

int32_t ExpertCache::pins(ExpertId id) const {
  return entry_of(id).pins;
}

int32_t ExpertCache::n_class() const {
  return static_cast<int32_t>(classes_.size());
}

int32_t ExpertCache::class_of(ExpertId id) const {
  CHECK(id.layer >= 0 && id.layer < geometry_.n_layer);
  return geometry_.class_of_layer[static_cast<size_t>(id.layer)];
}

int32_t ExpertCache::capacity(int32_t c) const {
  return class_at(c).capacity;
}

int32_t ExpertCache::in_use(int32_t c) const {
  return class_at(c).in_use;
}

int32_t ExpertCache::available(int32_t c) const {
  const Class& cls = class_at(c);
  return std::max(0, cls.capacity - cls.in_use) + cls.n_evictable;
}

int32_t ExpertCache::lent(int32_t c) const {
  return class_at(c).n_unpinned_loading + class_at(c).n_kept;
}

const CacheCounters& ExpertCache::counters() const {
  return counters_;
}

const CacheGeometry& ExpertCache::geometry() const {
  return geometry_;
}

size_t ExpertCache::index_of(ExpertId id) const {
  CHECK(id.layer >= 0 && id.layer < geometry_.n_layer);
  CHECK(id.expert >= 0 && id.expert < geometry_.n_expert);
  return static_cast<size_t>(id.layer) * static_cast<size_t>(geometry_.n_expert) +
         static_cast<size_t>(id.expert);
}

ExpertId ExpertCache::id_of(int32_t index) const {
  return {index / geometry_.n_expert, index % geometry_.n_expert};
}

ExpertCache::Class& ExpertCache::class_for(ExpertId id) {
  const int32_t c = class_of(id);
  CHECK(c >= 0);
  return classes_[static_cast<size_t>(c)];
}

const ExpertCache::Class& ExpertCache::class_at(int32_t c) const {
  CHECK(c >= 0 && c < n_class());
  return classes_[static_cast<size_t>(c)];
}

bool ExpertCache::is_evictable(const Entry& entry) {
  return entry.residency == Residency::kReady && entry.pins == 0;
}

std::optional<Acquired> ExpertCache::load(ExpertId id) {
  Class& cls = class_for(id);
  Acquired acquired{Outcome::kMiss, SlotId{-1}, std::nullopt};
  int32_t slot = -1;
  if (cls.in_use < cls.capacity) {
    std::vector<int32_t>& from = cls.idle.empty() ? cls.untouched : cls.idle;
    slot = from.back();
    from.pop_back();
    ++cls.in_use;
  } else if (cls.n_evictable >
             0) {  // then in_use == capacity: a waiting shrink leaves none evictable
    cls.eviction->makes_room(id);
    const ExpertId victim = cls.eviction->victim();
    slot = evict(cls, victim);
    acquired.evicted = victim;
  } else {
    return std::nullopt;
  }
  acquired.slot = SlotId{slot};
  cls.owner[static_cast<size_t>(slot)] = static_cast<int32_t>(index_of(id));
  ++cls.n_unpinned_loading;
  Entry& entry = entry_of(id);
  entry.slot = slot;
  entry.residency = Residency::kLoading;
  return acquired;
}

void ExpertCache::pin_ready(ExpertId id) {
  Entry& entry = entry_of(id);
  if (entry.pins++ == 0) {
    Class& cls = class_for(id);
    cls.eviction->not_evictable(id, SlotId{entry.slot});
    --cls.n_evictable;
  }
}

void ExpertCache::pin_loading(ExpertId id) {
  if (entry_of(id).pins++ == 0) {
    --class_for(id).n_unpinned_loading;
  }
}

void ExpertCache::let_go(ExpertId id) {
  Class& cls = class_for(id);
  const SlotId slot{entry_of(id).slot};
  cls.eviction->evictable(id, slot);
  ++cls.n_evictable;
  if (cls.in_use > cls.capacity) {
    vacate(class_of(id), evict(cls, id));
  }
}

int32_t ExpertCache::evict(Class& cls, ExpertId id) {
  Entry& entry = entry_of(id);
  const int32_t slot = entry.slot;
  cls.eviction->left(id);
  cls.eviction->not_evictable(id, SlotId{slot});
  --cls.n_evictable;
  cls.owner[static_cast<size_t>(slot)] = -1;
  ++counters_.evicted;
  entry = {};
  return slot;
}

void ExpertCache::drop_loading(ExpertId id) {
  Class& cls = class_for(id);
  Entry& entry = entry_of(id);
  CHECK(entry.residency == Residency::kLoading);
  if (entry.pins == 0) {
    --cls.n_unpinned_loading;
  }
  cls.n_kept -= entry.kept ? 1 : 0;
  const int32_t slot = entry.slot;
  cls.eviction->left(id);
  cls.owner[static_cast<size_t>(slot)] = -1;
  entry = {};
  vacate(class_of(id), slot);
}

void ExpertCache::vacate(int32_t c, int32_t slot) {
  Class& cls = classes_[static_cast<size_t>(c)];
  if (cls.in_use-- <= cls.capacity) {
    cls.idle.push_back(slot);
    return;
  }
  cls.untouched.push_back(slot);
  if (on_slot_given_up) {
    on_slot_given_up(c, SlotId{slot});
  }
}

}  // namespace runahead
