// Belady's optimum fetches as few experts as can be, and no policy fetches fewer.

#include "sim/belady.h"

#include <algorithm>
#include <bit>
#include <map>
#include <random>
#include <set>
#include <string>

#include "base/error.h"
#include "cache/expert_cache.h"

#undef CHECK  // doctest's from here on
#include <doctest/doctest.h>

using namespace runahead;

namespace {

// Routers have favourites, which change now and then, and requests that pause.
RoutingTrace random_trace(std::mt19937& rng, RoutingTrace shape) {
  std::vector<int32_t> order(static_cast<size_t>(shape.n_expert));
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = static_cast<int32_t>(i);
  }
  for (int32_t step = 0; step < shape.n_step; ++step) {
    if (rng() % 10 == 0) {
      std::shuffle(order.begin(), order.end(), rng);
    }
    for (int32_t request = 0; request < shape.n_request; ++request) {
      const bool active = rng() % 8 != 0;
      for (int32_t layer = 0; layer < shape.n_layer; ++layer) {
        std::set<int32_t> chosen;
        while (static_cast<int32_t>(chosen.size()) < shape.n_expert_used) {
          chosen.insert(order[std::min(rng() % order.size(), rng() % order.size())]);
        }
        for (const int32_t expert : chosen) {
          shape.experts.push_back(active ? expert : -1);
        }
      }
    }
  }
  shape.validate();
  return shape;
}

// Plays the trace in lockstep: all requests' experts of a layer are needed at once. Returns what
// the cache counted.
CacheCounters play(ExpertCache& cache, const RoutingTrace& trace, std::mt19937 rng) {
  uint64_t n_use = 0;
  for (int32_t step = 0; step < trace.n_step; ++step) {
    cache.step_started();
    for (int32_t layer = 0; layer < trace.n_layer; ++layer) {
      std::vector<ExpertId> used, missing;
      for (int32_t request = 0; request < trace.n_request; ++request) {
        if (!trace.is_active(step, request)) {
          continue;
        }
        for (const int32_t expert : trace.at(step, request, layer)) {
          const auto acquired = cache.acquire({layer, expert});
          REQUIRE(acquired.has_value());
          used.push_back({layer, expert});
          if (acquired->outcome == Outcome::kMiss) {
            missing.push_back({layer, expert});
          }
        }
        // What a prefetcher would say of the next layer, for policies that listen.
        for (int32_t expert = 0; expert < trace.n_expert && layer + 1 < trace.n_layer; ++expert) {
          cache.predicted({layer + 1, expert}, static_cast<float>(rng() % 100) / 100);
        }
      }
      for (const ExpertId id : missing) {
        cache.publish(id);
      }
      for (const ExpertId id : used) {
        cache.release(id);
      }
      n_use += used.size();
    }
  }
  cache.check_integrity();
  const CacheCounters& counters = cache.counters();
  REQUIRE(counters.hits + counters.joined + counters.misses == n_use);
  return counters;
}

CacheGeometry geometry(const RoutingTrace& trace) {
  return {trace.n_layer,
          trace.n_expert,
          std::vector<int32_t>(static_cast<size_t>(trace.n_layer), 0),
          {trace.n_layer * trace.n_expert}};
}

uint64_t fetches_of_belady(const RoutingTrace& trace, int32_t slots) {
  ExpertCache cache(geometry(trace), belady_eviction(trace));
  cache.set_capacity(0, slots);
  return play(cache, trace, std::mt19937(0)).misses;
}

// The fewest fetches there can be, by trying every eviction: for each set of residents after a
// layer, the least number of fetches that leads to it.
uint64_t fewest_fetches(const RoutingTrace& trace, int32_t slots) {
  std::map<uint32_t, uint64_t> reached = {{0, 0}};
  for (int32_t step = 0; step < trace.n_step; ++step) {
    for (int32_t layer = 0; layer < trace.n_layer; ++layer) {
      uint32_t needed = 0;
      for (int32_t request = 0; request < trace.n_request; ++request) {
        if (trace.is_active(step, request)) {
          for (const int32_t expert : trace.at(step, request, layer)) {
            needed |= 1U << (layer * trace.n_expert + expert);
          }
        }
      }
      std::map<uint32_t, uint64_t> next;
      for (const auto& [residents, n] : reached) {
        const uint64_t total = n + static_cast<uint64_t>(std::popcount(needed & ~residents));
        const uint32_t others = residents & ~needed;
        const int32_t room = slots - std::popcount(needed);
        // Every part of the others that fits; to keep fewer than could be kept is never better.
        const int32_t n_kept = std::min(room, std::popcount(others));
        for (uint32_t kept = others;; kept = (kept - 1) & others) {
          if (std::popcount(kept) == n_kept) {
            const auto [it, added] = next.try_emplace(kept | needed, total);
            it->second = std::min(it->second, total);
          }
          if (kept == 0) {
            break;
          }
        }
      }
      reached = std::move(next);
    }
  }
  return std::min_element(reached.begin(), reached.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->second;
}

}  // namespace

TEST_CASE("belady evicts the expert that is used last, first of all one used no more") {
  // One request, one layer, one expert a step.
  const RoutingTrace trace{9, 1, 1, 5, 1, {0, 1, 2, 3, 1, 0, 4, 0, 3}};
  ExpertCache cache(geometry(trace), belady_eviction(trace));
  cache.set_capacity(0, 3);
  std::vector<int32_t> evicted;
  for (const int32_t expert : trace.experts) {
    const auto acquired = cache.acquire({0, expert});
    REQUIRE(acquired.has_value());
    if (acquired->outcome == Outcome::kMiss) {
      cache.publish({0, expert});
      evicted.push_back(acquired->evicted ? acquired->evicted->expert : -1);
    }
    cache.release({0, expert});
  }
  // 3 takes the place of 2 (used no more), 4 that of 1 (used no more); 0 and 3 are kept.
  CHECK(evicted == std::vector<int32_t>{-1, -1, -1, 2, 1});
}

TEST_CASE("belady tells layers of one step apart") {
  // Two layers; slots for two. After layer 0 of step 1 has taken its expert, layer 1's comes next.
  const RoutingTrace trace{3, 1, 2, 3, 1, {0, 0, 1, 0, 0, 0}};
  CHECK(fetches_of_belady(trace, 2) == 4);
  ExpertCache cache(geometry(trace), belady_eviction(trace));
  cache.set_capacity(0, 2);
  for (const ExpertId id : {ExpertId{0, 0}, ExpertId{1, 0}}) {
    REQUIRE(cache.acquire(id).has_value());
    cache.publish(id);
    cache.release(id);
  }
  CHECK(cache.acquire({0, 1})->evicted == ExpertId{0, 0});
}

TEST_CASE("belady fetches as few experts as any eviction can") {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    std::mt19937 rng(seed);
    const RoutingTrace trace = random_trace(rng, {12, 2, 2, 5, seed % 2 == 0 ? 1 : 2, {}});
    for (int32_t slots = 4; slots <= 7; ++slots) {
      CAPTURE(slots);
      CHECK(fetches_of_belady(trace, slots) == fewest_fetches(trace, slots));
    }
  }
}

TEST_CASE("no policy fetches fewer experts than belady") {
  for (uint32_t seed = 0; seed < 12; ++seed) {
    CAPTURE(seed);
    std::mt19937 rng(seed);
    const RoutingTrace trace = random_trace(rng, {60, 3, 4, 16, 2, {}});
    bool some_slots_are_few = false;
    for (const int32_t slots : {6, 12, 20, 40, 64}) {
      CAPTURE(slots);
      const uint64_t best = fetches_of_belady(trace, slots);
      for (const std::string_view eviction : eviction_names()) {
        CAPTURE(eviction);
        ExpertCache cache(geometry(trace), std::string(eviction));
        cache.set_capacity(0, slots);
        const uint64_t fetches = play(cache, trace, std::mt19937(seed)).misses;
        CHECK(fetches >= best);
        some_slots_are_few = some_slots_are_few || fetches > best;
      }
    }
    CHECK(some_slots_are_few);  // else nothing was compared
  }
}

TEST_CASE("belady serves each slot class by its own uses") {
  std::mt19937 rng(5);
  const RoutingTrace trace = random_trace(rng, {40, 2, 4, 8, 2, {}});
  const auto fetches = [&](EvictionFactory eviction) {
    ExpertCache cache({4, 8, {0, 1, 0, 1}, {16, 16}}, std::move(eviction));
    cache.set_capacity(0, 6);
    cache.set_capacity(1, 9);
    return play(cache, trace, std::mt19937(0)).misses;
  };
  const uint64_t best = fetches(belady_eviction(trace));
  for (const std::string_view eviction : eviction_names()) {
    CAPTURE(eviction);
    CHECK(fetches([&](int32_t n_layer, int32_t n_expert) {
            return make_eviction(eviction, n_layer, n_expert);
          }) >= best);
  }
}
