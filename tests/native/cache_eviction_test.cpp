// What each eviction policy evicts, on cases worked out by hand.

#include "cache/expert_cache.h"

#include <doctest/doctest.h>

using namespace runahead;

namespace {

constexpr int32_t kLayers = 4, kExperts = 8;

class Cache {
 public:
  Cache(const std::string& eviction, int32_t capacity)
      : cache_({kLayers, kExperts, {0, 0, 0, 0}, {kLayers * kExperts}}, eviction) {
    cache_.set_capacity(0, capacity);
  }

  // Uses an expert from asking for it to letting it go. Returns who had to leave.
  std::optional<ExpertId> use(ExpertId id) {
    const auto acquired = cache_.acquire(id);
    REQUIRE(acquired.has_value());
    if (acquired->outcome == Outcome::kMiss) {
      cache_.publish(id);
    }
    cache_.release(id);
    cache_.check_integrity();
    return acquired->evicted;
  }
  std::optional<ExpertId> use(ExpertId id, int32_t times) {
    const auto evicted = use(id);
    for (int32_t i = 1; i < times; ++i) {
      use(id);
    }
    return evicted;
  }
  // Reads a predicted expert that nobody turns out to need. Returns who had to leave.
  std::optional<ExpertId> prefetch(ExpertId id) {
    const auto acquired = cache_.prefetch(id);
    REQUIRE(acquired.has_value());
    cache_.publish(id);
    cache_.let_prefetch_go(id);
    cache_.check_integrity();
    return acquired->evicted;
  }
  ExpertCache* operator->() { return &cache_; }

 private:
  ExpertCache cache_;
};

ExpertId e(int32_t layer, int32_t expert) {
  return {layer, expert};
}

}  // namespace

TEST_CASE("lfuda lets an old favourite go that lfu would keep") {
  for (const bool ageing : {true, false}) {
    CAPTURE(ageing);
    Cache cache(ageing ? "lfuda" : "lfu", 2);
    cache.use(e(0, 0), 5);  // the favourite: key 5
    cache.use(e(0, 1));     // key 1
    // Each newcomer is evicted by the next one, and makes the cache older.
    CHECK(cache.use(e(0, 2)) == e(0, 1));  // age 1, key 2
    CHECK(cache.use(e(0, 3)) == e(0, 2));  // age 2, key 3
    CHECK(cache.use(e(0, 4)) == e(0, 3));  // age 3, key 4
    CHECK(cache.use(e(0, 5)) == e(0, 4));  // age 4, key 5: as many as the favourite's
    CHECK(cache.use(e(0, 6)) == (ageing ? e(0, 0) : e(0, 5)));
  }
}

TEST_CASE("lfuda counts uses since the expert came, and a favourite in use stays") {
  Cache cache("lfuda", 2);
  cache.use(e(0, 0), 9);
  cache.use(e(0, 1), 3);
  CHECK(cache.use(e(0, 2)) == e(0, 1));  // age 3, key 4
  CHECK(cache.use(e(0, 1)) == e(0, 2));  // age 4; one use again: key 5
  CHECK(cache.use(e(0, 3)) == e(0, 1));  // age 5, key 6
  cache.use(e(0, 0));                    // ten uses and age 5: key 15
  for (int32_t i = 0; i < 8; ++i) {      // keys 7 to 14
    CHECK(cache.use(e(1, i)) != e(0, 0));
  }
  CHECK(cache.use(e(0, 3)) == e(1, 7));  // age 14, key 15
  CHECK(cache.use(e(0, 4)) == e(0, 0));  // as old, unused longer
}

TEST_CASE("lfuda ages by evictions, not by fetches that fail") {
  Cache cache("lfuda", 2);
  cache.use(e(0, 0), 2);
  for (int32_t i = 0; i < 5; ++i) {
    REQUIRE(cache->acquire(e(0, 1)).has_value());
    cache->fail(e(0, 1));
  }
  cache.use(e(0, 1));  // one use, the failed ones are past
  CHECK(cache.use(e(0, 2)) == e(0, 1));
}

TEST_CASE("least-stale evicts what the current pass has not touched") {
  Cache cache("least-stale", 4);
  cache->step_started();
  cache.use(e(0, 0), 7);  // uses count nothing
  cache.use(e(1, 0));
  cache.use(e(2, 0));
  cache.use(e(3, 0));
  cache->step_started();
  cache.use(e(0, 0));  // current again; stale are layers 1, 2, 3, whose turn comes in this order
  CHECK(cache.use(e(0, 1)) == e(3, 0));
  CHECK(cache.use(e(0, 2)) == e(2, 0));
  CHECK(cache.use(e(0, 3)) == e(1, 0));
  CHECK(cache.use(e(1, 1)) == e(0, 0));  // all are current now
  CHECK(cache.use(e(1, 2)) == e(0, 1));
}

TEST_CASE("least-stale evicts from the layer whose turn is furthest away") {
  Cache cache("least-stale", 4);
  cache->step_started();
  for (int32_t layer = 0; layer < kLayers; ++layer) {
    cache.use(e(layer, 0));
  }
  cache->step_started();
  cache.use(e(2, 0));  // the pass is at layer 2
  CHECK(cache.use(e(2, 1)) == e(1, 0));
  CHECK(cache.use(e(2, 2)) == e(0, 0));
  CHECK(cache.use(e(2, 3)) == e(3, 0));
  CHECK(cache.use(e(2, 4)) == e(2, 0));
}

TEST_CASE("least-stale keeps what was prefetched for layers ahead where lru gives it up") {
  for (const bool least_stale : {true, false}) {
    CAPTURE(least_stale);
    Cache cache(least_stale ? "least-stale" : "lru", 3);
    cache->step_started();
    cache.use(e(3, 0));
    cache->step_started();
    cache.prefetch(e(2, 0));
    cache.use(e(0, 0));
    CHECK(cache.use(e(0, 1)) == e(3, 0));  // stale, and unused longest
    CHECK(cache.use(e(1, 0)) == (least_stale ? e(0, 0) : e(2, 0)));
  }
}

TEST_CASE("least-stale breaks ties within a layer by who is unused longest, however stale") {
  Cache cache("least-stale", 3);
  cache->step_started();
  cache.use(e(1, 5));
  cache->step_started();
  cache.use(e(1, 2));
  cache.use(e(1, 7));
  cache->step_started();
  CHECK(cache.use(e(2, 0)) == e(1, 5));
  CHECK(cache.use(e(2, 1)) == e(1, 2));
  CHECK(cache.use(e(2, 2)) == e(1, 7));
}

TEST_CASE("least-stale: an expert that this pass is expected to need is not stale") {
  Cache cache("least-stale", 3);
  for (const bool predicted_now : {true, false}) {
    CAPTURE(predicted_now);
    cache->clear();
    cache->step_started();
    cache.use(e(1, 0));
    cache.use(e(2, 0));
    cache.use(e(3, 0));
    cache->step_started();
    cache->predicted(e(3, 0), 0.4F);
    if (!predicted_now) {
      cache->step_started();  // a prediction holds for its pass
    }
    CHECK(cache.use(e(0, 0)) == (predicted_now ? e(2, 0) : e(3, 0)));
    CHECK(cache.use(e(0, 1)) == (predicted_now ? e(1, 0) : e(2, 0)));
    CHECK(cache.use(e(0, 2)) == (predicted_now ? e(3, 0) : e(1, 0)));
  }
}

TEST_CASE("least-stale: of two current experts of a layer, a prediction counts as a use") {
  Cache cache("least-stale", 2);
  cache->step_started();
  cache.use(e(1, 0));
  cache->step_started();
  cache.use(e(1, 1));
  cache->predicted(e(1, 0), 0.5F);
  cache->predicted(e(1, 1), 0.5F);  // current already
  CHECK(cache.use(e(2, 0)) == e(1, 1));
}

TEST_CASE("least-stale: an expert in use across the start of a pass belongs to it") {
  Cache cache("least-stale", 2);
  cache->step_started();
  REQUIRE(cache->acquire(e(3, 0)).has_value());
  cache->publish(e(3, 0));
  cache.use(e(1, 0));
  cache->step_started();
  cache->release(e(3, 0));
  CHECK(cache.use(e(0, 0)) == e(1, 0));
}

TEST_CASE("finemoe evicts the lowest product of uses and predicted probability") {
  Cache cache("finemoe", 3);
  cache->step_started();
  cache.use(e(0, 0), 8);
  cache.use(e(0, 1), 4);
  cache.use(e(0, 2), 2);
  cache->predicted(e(0, 0), 0.05F);  // 0.4
  cache->predicted(e(0, 1), 0.2F);   // 0.8
  cache->predicted(e(0, 2), 0.3F);   // 0.6
  CHECK(cache.use(e(1, 0)) == e(0, 0));
}

TEST_CASE("finemoe follows predictions that change while the expert may be evicted") {
  Cache cache("finemoe", 2);
  cache->step_started();
  cache.use(e(0, 0), 4);
  cache.use(e(0, 1), 2);
  cache->predicted(e(0, 0), 0.5F);  // 2
  cache->predicted(e(0, 1), 0.5F);  // 1
  cache->step_started();
  cache->predicted(e(0, 1), 0.75F);  // 1.5, still less
  cache->predicted(e(0, 0), 0.25F);  // 1, and now the least
  CHECK(cache.use(e(1, 0)) == e(0, 0));
  // Absent, it keeps its uses and its probability, so that it comes back with 5 * 0.25.
  CHECK(cache.use(e(0, 0)) == e(1, 0));
  CHECK(cache.use(e(1, 1)) == e(0, 0));
}

TEST_CASE("finemoe takes the largest probability of a step's requests") {
  Cache cache("finemoe", 2);
  cache.use(e(0, 0));
  cache.use(e(0, 1));
  cache->step_started();
  cache->predicted(e(0, 0), 0.9F);
  cache->predicted(e(0, 1), 0.5F);
  cache->predicted(e(0, 0), 0.1F);  // another request does not expect it
  CHECK(cache.use(e(0, 2)) == e(0, 1));
  cache->step_started();
  cache->predicted(e(0, 0), 0.0F);  // a new step: 0.9 is past
  CHECK(cache.use(e(0, 3)) == e(0, 0));
}

TEST_CASE("finemoe without predictions is lfu") {
  Cache finemoe("finemoe", 3), lfu("lfu", 3);
  for (const int32_t expert : {0, 1, 2, 0, 3, 1, 4, 0, 2, 5, 5, 1, 3, 0, 2, 4}) {
    CHECK(finemoe.use(e(0, expert)) == lfu.use(e(0, expert)));
  }
}

TEST_CASE("hints are nothing to policies that take none") {
  for (const char* eviction : {"lfu", "lru", "lfuda"}) {
    CAPTURE(eviction);
    Cache hinted(eviction, 3), plain(eviction, 3);
    for (const int32_t expert : {0, 1, 2, 0, 3, 1, 4, 0, 2, 5, 5, 1, 3, 0, 2, 4}) {
      hinted->step_started();
      hinted->predicted(e(0, 5 - expert), 1.0F);
      CHECK(hinted.use(e(0, expert)) == plain.use(e(0, expert)));
    }
  }
}

TEST_CASE("layer-lru keeps layers equal, and gives up the oldest of the layer that gets the slot") {
  Cache cache("layer-lru", 4);
  cache.use(e(0, 0));
  cache.use(e(0, 1));
  cache.use(e(1, 0));
  cache.use(e(1, 1));
  // LRU would give up e(0, 0), which the next pass needs first.
  CHECK(cache.use(e(1, 2)) == e(1, 0));
  CHECK(cache.use(e(0, 2)) == e(0, 0));
  // A layer that has nothing takes from the one that has most, of equals from the first; from
  // then on it holds its share.
  CHECK(cache.use(e(2, 0)) == e(0, 1));
  CHECK(cache.use(e(2, 1)) == e(2, 0));
}
