// What is always true of an ExpertCache, checked in one pass over all experts.

#include "base/error.h"
#include "cache/expert_cache.h"

namespace runahead {

void ExpertCache::check_integrity() const {
  std::vector<Class> seen(classes_.size());  // counts only
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    const ExpertId id = id_of(static_cast<int32_t>(i));
    if (entry.residency == Residency::kAbsent) {
      CHECK(entry.slot == -1 && entry.pins == 0 && entry.unused_prefetch_of == 0 && !entry.kept);
      continue;
    }
    const int32_t c = class_of(id);
    CHECK(c >= 0 && entry.pins >= 0);
    CHECK(entry.slot >= 0 && entry.slot < geometry_.max_slots[static_cast<size_t>(c)]);
    CHECK(class_at(c).owner[static_cast<size_t>(entry.slot)] == static_cast<int32_t>(i));
    Class& count = seen[static_cast<size_t>(c)];
    CHECK(!entry.kept || entry.pins > 0);
    ++count.in_use;
    count.n_kept += entry.kept ? 1 : 0;
    count.n_evictable += is_evictable(entry) ? 1 : 0;
    count.n_unpinned_loading += entry.residency == Residency::kLoading && entry.pins == 0 ? 1 : 0;
  }
  for (size_t c = 0; c < classes_.size(); ++c) {
    const Class& cls = classes_[c];
    const auto n_idle = static_cast<int32_t>(cls.idle.size());
    CHECK(cls.in_use == seen[c].in_use && cls.n_evictable == seen[c].n_evictable);
    CHECK(cls.n_unpinned_loading == seen[c].n_unpinned_loading);
    CHECK(cls.n_kept == seen[c].n_kept);
    CHECK(cls.in_use + n_idle <= cls.capacity || (n_idle == 0 && cls.n_evictable == 0));
    CHECK(cls.n_evictable == 0 || is_evictable(entry_of(cls.eviction->victim())));
    std::vector<bool> is_free(cls.owner.size(), false);
    for (const std::vector<int32_t>* stack : {&cls.idle, &cls.untouched}) {
      for (const int32_t slot : *stack) {
        CHECK(cls.owner[static_cast<size_t>(slot)] == -1 && !is_free[static_cast<size_t>(slot)]);
        is_free[static_cast<size_t>(slot)] = true;
      }
    }
    CHECK(cls.owner.size() == static_cast<size_t>(cls.in_use + n_idle) + cls.untouched.size());
  }
}

}  // namespace runahead
