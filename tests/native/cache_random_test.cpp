// Plays random operations on an ExpertCache and on a small obvious one, which must agree.

#include "cache/expert_cache.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

#undef CHECK  // doctest's from here on
#include <doctest/doctest.h>

using namespace runahead;

namespace {

constexpr int32_t kLayers = 3, kExperts = 6, kMaxSlots = 9;

// The small obvious cache: maps and lists, everything by scanning.
class ObviousCache {
 public:
  ObviousCache(std::string eviction, int32_t capacity)
      : eviction_(std::move(eviction)), capacity_(capacity) {}

  struct Expert {
    bool loading = true;
    int32_t pins = 0;
    bool kept = false;     // prefetched; one of the pins
    bool counted = false;  // among its layer's: used, or evictable once
    int64_t let_go = 0;    // when it was last let go
    int64_t step = 0;      // the last one that had to do with it
    uint64_t n_use = 0;    // since it came
    uint64_t key_age = 0;  // the cache's age at its last use, or when it was let go without one
  };

  // outcome, and who is evicted for it; nullopt: refused.
  std::optional<std::pair<Outcome, std::optional<ExpertId>>> acquire(ExpertId id) {
    layer_ = id.layer;
    Outcome outcome = Outcome::kMiss;
    std::optional<ExpertId> evicted;
    if (resident_.count(id) > 0) {
      outcome = resident_[id].loading ? Outcome::kJoined : Outcome::kHit;
    } else if (!make_room(id, evicted)) {
      return std::nullopt;
    }
    Expert& expert = resident_[id];
    ++expert.pins;
    ++expert.n_use;
    expert.counted = true;
    expert.key_age = age_;
    ++history_[id].uses;
    return std::pair(outcome, evicted);
  }
  std::optional<std::optional<ExpertId>> prefetch(ExpertId id) {
    std::optional<ExpertId> evicted;
    if (resident_.count(id) > 0 || !make_room(id, evicted)) {
      return std::nullopt;
    }
    resident_[id].kept = true;
    resident_[id].pins = 1;
    return evicted;
  }
  void let_prefetch_go(ExpertId id) {
    resident_[id].kept = false;
    release(id);
  }
  void release(ExpertId id) {
    --resident_[id].pins;
    settle(id);
  }
  void publish(ExpertId id) {
    resident_[id].loading = false;
    settle(id);
  }
  void remove(ExpertId id) { resident_.erase(id); }
  std::set<ExpertId> set_capacity(int32_t capacity) {
    capacity_ = capacity;
    std::set<ExpertId> gone;
    while (in_use() > capacity_ && victim()) {
      gone.insert(*victim());
      evict(*victim());
    }
    return gone;
  }
  void clear() {
    std::erase_if(resident_, [](const auto& r) { return free(r.second); });
    for (auto& [id, e] : resident_) {
      e.n_use = 0;
      e.counted = false;
    }
    history_.clear();
    age_ = 0;
    layer_ = 0;
    incoming_layer_ = 0;
  }
  void step_started() {
    ++step_;
    layer_ = 0;
  }
  void predicted(ExpertId id, float probability) {
    if (const auto it = resident_.find(id); it != resident_.end() && it->second.step != step_) {
      it->second.step = step_;
      if (eviction_ == "least-stale") {
        it->second.let_go = ++now_;  // as if it had been used
      }
    }
    History& history = history_[id];
    if (history.predicted_in != step_) {
      history = {history.uses, 0, step_};
    }
    history.probability = std::max<double>(history.probability, probability);
  }

  [[nodiscard]] int32_t in_use() const { return static_cast<int32_t>(resident_.size()); }
  [[nodiscard]] const std::map<ExpertId, Expert>& resident() const { return resident_; }
  [[nodiscard]] int32_t available() const {
    return std::max(0, capacity_ - in_use()) +
           static_cast<int32_t>(std::count_if(resident_.begin(), resident_.end(),
                                              [](const auto& r) { return free(r.second); }));
  }

 private:
  static bool free(const Expert& e) { return !e.loading && e.pins == 0; }
  void settle(ExpertId id) {
    if (!free(resident_[id])) {
      return;
    }
    Expert& expert = resident_[id];
    expert.let_go = ++now_;
    expert.step = step_;
    expert.counted = true;
    if (expert.n_use == 0) {
      expert.key_age = age_;
    }
    if (in_use() > capacity_) {
      evict(id);
    }
  }
  void evict(ExpertId id) {
    age_ = std::max(age_, resident_[id].key_age + resident_[id].n_use);
    remove(id);
  }
  // Lowest goes first, ties to the one let go first.
  [[nodiscard]] double rank(ExpertId id, const Expert& e) const {
    const auto it = history_.find(id);
    const History history = it != history_.end() ? it->second : History{};
    if (eviction_ == "lfu") {
      return static_cast<double>(history.uses);
    }
    if (eviction_ == "lfuda") {
      return static_cast<double>(e.key_age + e.n_use);
    }
    if (eviction_ == "least-stale") {
      const int32_t layers_away = (id.layer - layer_ + kLayers) % kLayers;
      return (e.step == step_ ? kLayers : 0) - layers_away;
    }
    if (eviction_ == "finemoe") {
      const bool known = history.predicted_in >= 0;
      return static_cast<double>(history.uses) * (known ? history.probability : 1.0 / kExperts);
    }
    if (eviction_ == "layer-lru") {
      const bool incoming = id.layer == incoming_layer_;
      const auto n = std::count_if(resident_.begin(), resident_.end(), [&](const auto& r) {
        return r.first.layer == id.layer && r.second.counted;
      });
      // Of equally full layers the one that gets the slot, then the lowest.
      return -100.0 * static_cast<double>(n + (incoming ? 1 : 0)) + (incoming ? 0 : id.layer + 1);
    }
    return 0;  // lru
  }
  [[nodiscard]] std::optional<ExpertId> victim() const {
    std::optional<ExpertId> best;
    std::pair<double, int64_t> best_key;
    for (const auto& [id, e] : resident_) {
      const std::pair key(rank(id, e), e.let_go);
      if (free(e) && (!best || key < best_key)) {
        best = id;
        best_key = key;
      }
    }
    return best;
  }
  bool make_room(ExpertId id, std::optional<ExpertId>& evicted) {
    if (in_use() < capacity_) {
      return true;
    }
    if (victim()) {
      incoming_layer_ = id.layer;
    }
    evicted = victim();
    if (evicted) {
      evict(*evicted);
    }
    return evicted.has_value();
  }

  struct History {  // absent experts keep it
    uint64_t uses = 0;
    double probability = 0;
    int64_t predicted_in = -1;
  };

  std::string eviction_;
  int32_t capacity_;
  int64_t now_ = 0;
  int64_t step_ = 0;
  int32_t layer_ = 0;  // of the latest job
  int32_t incoming_layer_ = 0;
  uint64_t age_ = 0;
  std::map<ExpertId, Expert> resident_;
  std::map<ExpertId, History> history_;
};

void compare(const ExpertCache& cache, const ObviousCache& model) {
  std::set<int32_t> slots;
  for (int32_t layer = 0; layer < kLayers; ++layer) {
    for (int32_t expert = 0; expert < kExperts; ++expert) {
      const ExpertId id{layer, expert};
      const auto it = model.resident().find(id);
      const bool resident = it != model.resident().end();
      REQUIRE(cache.slot_of(id).has_value() == resident);
      if (resident) {
        REQUIRE((cache.residency(id) == Residency::kLoading) == it->second.loading);
        REQUIRE(cache.pins(id) == it->second.pins);
        slots.insert(to_int(*cache.slot_of(id)));
      }
    }
  }
  REQUIRE(static_cast<int32_t>(slots.size()) == model.in_use());  // no slot is held twice
  REQUIRE(cache.in_use(0) == model.in_use());
  REQUIRE(cache.available(0) == model.available());
}

}  // namespace

TEST_CASE("random operations agree with a small obvious cache") {
  for (const std::string_view eviction : eviction_names()) {
    int64_t n_evicted = 0;
    for (uint32_t seed = 0; seed < 60; ++seed) {
      CAPTURE(seed);
      CAPTURE(eviction);
      std::mt19937 rng(seed);
      const auto pick = [&](int32_t n) {
        return static_cast<int32_t>(rng() % static_cast<uint32_t>(n));
      };
      ExpertCache cache({kLayers, kExperts, std::vector<int32_t>(kLayers, 0), {kMaxSlots}},
                        std::string(eviction));
      ObviousCache model(std::string(eviction), 5);
      cache.set_capacity(0, 5);
      // Slots with memory, as the owner of the memory sees it.
      std::set<int32_t> backed;
      cache.on_slot_given_up = [&](int32_t, SlotId slot) {
        REQUIRE(backed.erase(to_int(slot)) == 1);
      };
      const auto some = [&](auto is_wanted) -> std::optional<ExpertId> {
        std::vector<ExpertId> found;
        for (const auto& [id, expert] : model.resident()) {
          if (is_wanted(expert)) {
            found.push_back(id);
          }
        }
        return found.empty()
                   ? std::nullopt
                   : std::optional(
                         found[static_cast<size_t>(pick(static_cast<int32_t>(found.size())))]);
      };
      const auto is_pinned = [](const ObviousCache::Expert& e) {
        return e.pins > (e.kept ? 1 : 0);
      };
      const auto is_kept = [](const ObviousCache::Expert& e) { return e.kept; };
      const auto is_loading = [](const ObviousCache::Expert& e) { return e.loading; };

      for (int32_t i = 0; i < 400; ++i) {
        const ExpertId id{pick(kLayers), pick(kExperts)};
        const int32_t what = pick(24);
        if (what < 5) {
          const auto got = cache.acquire(id);
          const auto want = model.acquire(id);
          REQUIRE(got.has_value() == want.has_value());
          if (got) {
            REQUIRE(got->outcome == want->first);
            REQUIRE(got->evicted == want->second);
            n_evicted += got->evicted ? 1 : 0;
            backed.insert(to_int(got->slot));
          }
        } else if (what < 7) {
          const auto got = cache.prefetch(id);
          const auto want = model.prefetch(id);
          REQUIRE(got.has_value() == want.has_value());
          if (got) {
            REQUIRE(got->evicted == *want);
            backed.insert(to_int(got->slot));
          }
        } else if (what == 7) {
          if (const auto kept = some(is_kept)) {
            model.let_prefetch_go(*kept);
            cache.let_prefetch_go(*kept);
          }
        } else if (what < 12) {
          if (const auto pinned = some(is_pinned)) {
            model.release(*pinned);
            cache.release(*pinned);
          }
        } else if (what < 17) {
          if (const auto loading = some(is_loading)) {
            model.publish(*loading);
            cache.publish(*loading);
          }
        } else if (what == 17) {
          if (const auto loading = some(is_loading)) {
            const bool pinned = cache.pins(*loading) > 0;
            model.remove(*loading);
            (pinned || pick(2) == 0) ? cache.fail(*loading) : cache.withdraw(*loading);
          }
        } else if (what == 18) {
          const int32_t capacity = pick(3) == 0 ? pick(kMaxSlots + 1) : 6;
          const std::set<ExpertId> want = model.set_capacity(capacity);
          std::set<ExpertId> got;
          for (const auto& vacated : cache.set_capacity(0, capacity)) {
            got.insert(vacated.id);
            REQUIRE(backed.erase(to_int(vacated.slot)) == 1);
          }
          REQUIRE(got == want);
        } else if (what == 19) {
          if (pick(8) == 0) {
            model.clear();
            cache.clear();
          }
        } else if (what == 20) {
          model.step_started();
          cache.step_started();
        } else {
          const float probability = static_cast<float>(pick(5)) / 4;
          model.predicted(id, probability);
          cache.predicted(id, probability);
        }
        cache.check_integrity();
        compare(cache, model);
        // Memory follows the capacity, save for what is pinned or loading.
        REQUIRE(static_cast<int32_t>(backed.size()) <=
                std::max(cache.capacity(0), cache.in_use(0)));
      }
    }
    CHECK(n_evicted > 1000);  // else little was compared
  }
}
