#include "cache/expert_cache.h"

#include <set>

#include "base/error.h"

#undef CHECK  // doctest's from here on
#include <doctest/doctest.h>

using namespace runahead;

namespace {

CacheGeometry one_class(int32_t n_layer, int32_t n_expert, int32_t max_slots) {
  return {n_layer, n_expert, std::vector<int32_t>(static_cast<size_t>(n_layer), 0), {max_slots}};
}

ExpertCache small_cache(const std::string& eviction, int32_t capacity) {
  ExpertCache cache(one_class(2, 8, 16), eviction);
  CHECK(cache.set_capacity(0, capacity).empty());
  return cache;
}

// Fetches, uses and releases an expert of layer 0. Returns who had to leave.
int32_t use(ExpertCache& cache, int32_t expert) {
  const ExpertId id{0, expert};
  const auto acquired = cache.acquire(id);
  REQUIRE(acquired.has_value());
  if (acquired->outcome == Outcome::kMiss) {
    cache.publish(id);
  }
  cache.release(id);
  return acquired->evicted ? acquired->evicted->expert : -1;
}

}  // namespace

TEST_CASE("lru evicts the expert unused longest") {
  ExpertCache cache = small_cache("lru", 3);
  for (const int32_t e : {0, 1, 2, 0}) {
    CHECK(use(cache, e) == -1);
  }
  CHECK(use(cache, 3) == 1);
  CHECK(use(cache, 4) == 2);
  CHECK(use(cache, 5) == 0);
}

TEST_CASE("lru counts from the end of a use") {
  ExpertCache cache = small_cache("lru", 2);
  REQUIRE(cache.acquire({0, 0}).has_value());
  cache.publish({0, 0});
  CHECK(use(cache, 1) == -1);
  cache.release({0, 0});  // asked for before expert 1, let go after it
  CHECK(use(cache, 2) == 1);
}

TEST_CASE("lfu evicts the expert with fewest uses, ties to the least recently used") {
  ExpertCache cache = small_cache("lfu", 3);
  for (const int32_t e : {0, 0, 1, 2, 2, 1, 0}) {
    use(cache, e);
  }
  CHECK(use(cache, 3) == 2);  // 1 and 2 have two uses each; 2 is unused longer
  CHECK(use(cache, 4) == 3);
}

TEST_CASE("lfu keeps the counts of absent experts") {
  ExpertCache cache = small_cache("lfu", 2);
  for (const int32_t e : {0, 0, 0, 1, 1}) {
    use(cache, e);
  }
  CHECK(use(cache, 2) == 1);  // 1 leaves with two uses
  CHECK(use(cache, 1) == 2);  // and comes back with three in all
  CHECK(use(cache, 2) == 0);  // so 0, with three as well but unused longer, is next
}

TEST_CASE("clear makes the cache cold, uses included") {
  ExpertCache cache = small_cache("lfu", 2);
  for (const int32_t e : {0, 0, 0, 1}) {
    use(cache, e);
  }
  cache.clear();
  cache.check_integrity();
  CHECK(cache.in_use(0) == 0);
  CHECK(cache.residency({0, 0}) == Residency::kAbsent);
  use(cache, 0);
  use(cache, 1);
  CHECK(use(cache, 2) == 0);
}

TEST_CASE("clear leaves pinned and loading experts alone") {
  ExpertCache cache = small_cache("lfu", 4);
  use(cache, 0);
  REQUIRE(cache.acquire({0, 1}).has_value());
  cache.publish({0, 1});
  REQUIRE(cache.acquire({0, 2}).has_value());
  cache.clear();
  cache.check_integrity();
  CHECK(cache.residency({0, 0}) == Residency::kAbsent);
  CHECK(cache.residency({0, 1}) == Residency::kReady);
  CHECK(cache.residency({0, 2}) == Residency::kLoading);
}

TEST_CASE("a second job joins the pending fetch") {
  ExpertCache cache = small_cache("lfu", 2);
  CHECK(cache.acquire({0, 0})->outcome == Outcome::kMiss);
  CHECK(cache.acquire({0, 0})->outcome == Outcome::kJoined);
  cache.publish({0, 0});
  CHECK(cache.acquire({0, 0})->outcome == Outcome::kHit);
  CHECK(cache.pins({0, 0}) == 3);
  CHECK(cache.counters().misses == 1);
  CHECK(cache.counters().joined == 1);
  CHECK(cache.counters().hits == 1);
}

TEST_CASE("acquire refuses when every slot is pinned or loading, and changes nothing") {
  ExpertCache cache = small_cache("lfu", 2);
  REQUIRE(cache.acquire({0, 0}).has_value());
  cache.publish({0, 0});
  REQUIRE(cache.acquire({0, 1}).has_value());
  CHECK_FALSE(cache.acquire({0, 2}).has_value());
  CHECK(cache.counters().misses == 2);
  CHECK(cache.residency({0, 2}) == Residency::kAbsent);
  cache.check_integrity();
  cache.release({0, 0});
  CHECK(cache.acquire({0, 2})->evicted == ExpertId{0, 0});
}

TEST_CASE("a failed fetch frees the slot and forgets the pins") {
  ExpertCache cache = small_cache("lfu", 1);
  REQUIRE(cache.acquire({0, 0}).has_value());
  REQUIRE(cache.acquire({0, 0}).has_value());
  cache.fail({0, 0});
  cache.check_integrity();
  CHECK(cache.pins({0, 0}) == 0);
  CHECK(cache.available(0) == 1);
  CHECK(cache.acquire({0, 1})->outcome == Outcome::kMiss);
}

TEST_CASE("a withdrawn fetch leaves no trace in the slots") {
  ExpertCache cache = small_cache("lfu", 1);
  REQUIRE(cache.acquire({0, 0}).has_value());
  cache.release({0, 0});
  CHECK(cache.lent(0) == 1);
  CHECK_FALSE(cache.acquire({0, 1}).has_value());  // loading is never evicted, pinned or not
  cache.withdraw({0, 0});
  CHECK(cache.lent(0) == 0);
  CHECK(cache.acquire({0, 1}).has_value());
  CHECK(cache.counters().failed == 0);
}

TEST_CASE("a prefetched expert that its step uses is counted, the others are in vain") {
  ExpertCache cache = small_cache("lfu", 2);
  CHECK(cache.prefetch({0, 0})->outcome == Outcome::kMiss);
  CHECK_FALSE(cache.prefetch({0, 0}).has_value());
  REQUIRE(cache.prefetch({0, 1}).has_value());
  CHECK_FALSE(cache.prefetch({0, 2}).has_value());  // both slots are loading
  cache.publish({0, 0});
  CHECK(cache.lent(0) == 2);
  cache.let_prefetch_go({0, 0});
  cache.publish({0, 1});
  cache.let_prefetch_go({0, 1});
  cache.let_prefetch_go({0, 1});  // once is enough
  CHECK(cache.lent(0) == 0);
  use(cache, 1);
  CHECK(use(cache, 2) == 0);
  CHECK(use(cache, 3) == 1);
  CHECK(cache.counters().prefetched == 2);
  CHECK(cache.counters().prefetch_used == 1);
}

TEST_CASE("a prefetch that only a later step uses was in vain") {
  ExpertCache cache = small_cache("lfu", 4);
  REQUIRE(cache.prefetch({0, 0}).has_value());
  cache.publish({0, 0});
  cache.let_prefetch_go({0, 0});
  cache.step_started();
  REQUIRE(cache.prefetch({0, 1}).has_value());
  CHECK(use(cache, 0) == -1);  // a hit all the same
  CHECK(cache.counters().hits == 1);
  CHECK(cache.counters().prefetch_used == 0);
  CHECK(cache.acquire({0, 1})->outcome == Outcome::kJoined);
  CHECK(cache.counters().prefetch_used == 1);
}

TEST_CASE("to hold an expert is no use of it") {
  ExpertCache cache = small_cache("lfu", 2);
  use(cache, 0);
  use(cache, 1);
  use(cache, 1);
  const CacheCounters before = cache.counters();
  for (int i = 0; i < 5; ++i) {
    REQUIRE(cache.hold({0, 0}));
  }
  CHECK_FALSE(cache.hold({0, 2}));  // absent
  CHECK(cache.pins({0, 0}) == 5);
  CHECK(cache.available(0) == 1);
  for (int i = 0; i < 5; ++i) {
    cache.release({0, 0});
  }
  CHECK(cache.counters().hits == before.hits);
  CHECK(use(cache, 2) == 0);  // still the fewest uses
  REQUIRE(cache.acquire({0, 3}).has_value());
  CHECK_FALSE(cache.hold({0, 3}));  // loading is never evicted anyway
  cache.check_integrity();
}

TEST_CASE("a prefetched expert is kept until it is let go, whatever the eviction thinks of it") {
  for (const std::string_view eviction : eviction_names()) {
    CAPTURE(eviction);
    ExpertCache cache = small_cache(std::string(eviction), 2);
    REQUIRE(cache.prefetch({0, 0}).has_value());
    cache.publish({0, 0});
    for (int32_t expert = 1; expert < 6; ++expert) {
      use(cache, expert);  // one slot is left for all these
    }
    CHECK(cache.residency({0, 0}) == Residency::kReady);
    cache.let_all_prefetches_go();
    cache.set_capacity(0, 0);
    CHECK(cache.residency({0, 0}) == Residency::kAbsent);
    CHECK(cache.counters().prefetch_used == 0);
    cache.check_integrity();
  }
}

TEST_CASE("a kept prefetch that cannot be read is kept no more") {
  ExpertCache cache = small_cache("lfu", 2);
  REQUIRE(cache.prefetch({0, 0}).has_value());
  cache.fail({0, 0});
  CHECK(cache.lent(0) == 0);
  cache.let_prefetch_go({0, 0});
  cache.check_integrity();
}

TEST_CASE("a prefetch is counted as used once, be it joined while it loads") {
  ExpertCache cache = small_cache("lfu", 2);
  REQUIRE(cache.prefetch({0, 0}).has_value());
  CHECK(cache.acquire({0, 0})->outcome == Outcome::kJoined);
  CHECK(cache.counters().prefetch_used == 1);
  cache.publish({0, 0});
  cache.release({0, 0});
  cache.let_prefetch_go({0, 0});
  CHECK(use(cache, 0) == -1);
  CHECK(cache.counters().prefetch_used == 1);
  use(cache, 1);
  use(cache, 2);
  CHECK(cache.counters().evicted == 1);
  CHECK(cache.counters().prefetch_used == 1);
}

TEST_CASE("a cache can be given an eviction that is not in the list") {
  int n_made = 0;
  ExpertCache cache(one_class(2, 8, 16), [&](int32_t n_layer, int32_t n_expert) {
    ++n_made;
    return make_eviction("lru", n_layer, n_expert);
  });
  cache.set_capacity(0, 1);
  use(cache, 3);
  CHECK(use(cache, 5) == 3);
  cache.clear();
  CHECK(n_made == 2);
}

TEST_CASE("a shrink evicts the unpinned at once and the pinned when released") {
  ExpertCache cache = small_cache("lru", 4);
  std::vector<int32_t> given_up;
  cache.on_slot_given_up = [&](int32_t, SlotId slot) { given_up.push_back(to_int(slot)); };
  for (const int32_t e : {0, 1}) {
    REQUIRE(cache.acquire({0, e}).has_value());
    cache.publish({0, e});
  }
  use(cache, 2);
  REQUIRE(cache.acquire({0, 3}).has_value());  // loading

  const auto vacated = cache.set_capacity(0, 1);
  REQUIRE(vacated.size() == 1);
  CHECK(vacated[0].id == ExpertId{0, 2});
  CHECK(cache.in_use(0) == 3);
  CHECK(cache.available(0) == 0);
  CHECK(cache.acquire({0, 0})->outcome == Outcome::kHit);  // resident ones can still be pinned
  CHECK_FALSE(cache.acquire({0, 4}).has_value());  // new ones wait for a slot under the capacity
  cache.check_integrity();

  cache.release({0, 0});
  CHECK(given_up.empty());  // one pin is left
  cache.release({0, 0});
  CHECK(given_up == std::vector<int32_t>{0});
  CHECK_FALSE(cache.acquire({0, 4}).has_value());
  cache.release({0, 3});
  cache.publish({0, 3});  // arrives unpinned
  CHECK(given_up == std::vector<int32_t>{0, 3});
  CHECK(cache.in_use(0) == 1);
  cache.release({0, 1});  // under the capacity now: stays
  CHECK(cache.residency({0, 1}) == Residency::kReady);
  CHECK(cache.acquire({0, 4})->evicted == ExpertId{0, 1});
  cache.check_integrity();
}

TEST_CASE("a shrink gives up idle slots before it evicts") {
  ExpertCache cache = small_cache("lru", 3);
  std::set<int32_t> given_up;
  cache.on_slot_given_up = [&](int32_t, SlotId slot) { given_up.insert(to_int(slot)); };
  for (const int32_t e : {0, 1, 2}) {
    use(cache, e);
  }
  cache.clear();  // three slots keep their memory
  use(cache, 5);
  CHECK(cache.set_capacity(0, 1).empty());
  CHECK(given_up.size() == 2);
  CHECK(given_up.count(to_int(*cache.slot_of({0, 5}))) == 0);
}

TEST_CASE("growing gives slots without evicting") {
  ExpertCache cache = small_cache("lfu", 1);
  use(cache, 0);
  CHECK(cache.set_capacity(0, 99).empty());
  CHECK(cache.capacity(0) == 16);  // clamped
  CHECK(use(cache, 1) == -1);
}

TEST_CASE("slot classes do not take each other's slots") {
  ExpertCache cache({3, 4, {0, 1, -1}, {2, 1}}, "lfu");
  cache.set_capacity(0, 2);
  cache.set_capacity(1, 1);
  REQUIRE(cache.acquire({1, 0}).has_value());
  CHECK_FALSE(cache.acquire({1, 1}).has_value());
  CHECK(cache.acquire({0, 0}).has_value());
  CHECK(cache.class_of({2, 0}) == -1);
  CHECK(cache.available(0) == 1);
  cache.check_integrity();
}

TEST_CASE("another eviction policy takes over the residents with their order") {
  ExpertCache cache = small_cache("lru", 3);
  for (const int32_t e : {0, 1, 2, 0}) {
    use(cache, e);
  }
  REQUIRE(cache.acquire({0, 2}).has_value());
  CHECK_THROWS_WITH_AS(cache.set_eviction("belady"),
                       "unknown eviction \"belady\"; this version knows: lfu, lru, lfuda, "
                       "least-stale, layer-lru, finemoe",
                       Error);
  cache.set_eviction("lfu");
  cache.check_integrity();
  CHECK(use(cache, 3) == 1);
  cache.release({0, 2});
  cache.check_integrity();
}
