#include "sched/waves.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "base/error.h"

#undef CHECK  // doctest's from here on
#include <doctest/doctest.h>

using namespace runahead;

namespace {

constexpr RequestId kChat{7};
constexpr int32_t kExperts = 12;

struct Bench {
  ExpertCache cache{{3, kExperts, {0, 0, 0}, {36}}, "lfu"};
  Waves waves{cache};
  explicit Bench(int32_t capacity) { cache.set_capacity(0, capacity); }

  int32_t pinned(int32_t layer) {
    int32_t n = 0;
    for (int32_t expert = 0; expert < kExperts; ++expert) {
      n += cache.pins({layer, expert});
    }
    return n;
  }
};

std::vector<int32_t> first_experts(int32_t n) {
  std::vector<int32_t> experts(static_cast<size_t>(n));
  std::iota(experts.begin(), experts.end(), 0);
  return experts;
}

}  // namespace

TEST_CASE("resident experts come first and are not evicted by the others") {
  Bench bench(3);
  for (const int32_t expert : {4, 5}) {  // warm, with the fewest uses there can be
    REQUIRE(bench.cache.acquire({0, expert}).has_value());
    bench.cache.publish({0, expert});
    bench.cache.release({0, expert});
  }
  const std::vector<int32_t> experts = {0, 1, 4, 5};
  const auto issued = bench.waves.begin(kChat, 0, experts);
  REQUIRE(issued.size() == 3);
  CHECK(issued[0].id.expert == 4);
  CHECK(issued[0].acquired.outcome == Outcome::kHit);
  CHECK(issued[1].id.expert == 5);
  CHECK(issued[2].id.expert == 0);
  CHECK(issued[2].acquired.outcome == Outcome::kMiss);

  const auto fetch = bench.waves.next_fetch();
  CHECK(fetch->id == ExpertId{0, 0});
  CHECK(fetch->request == kChat);
  CHECK_FALSE(bench.waves.has_fetch());
  const auto wave = bench.waves.next_wave();
  REQUIRE(wave.has_value());
  CHECK(wave->experts == std::vector<int32_t>{4, 5});
  CHECK(wave->slots[1] == *bench.cache.slot_of({0, 5}));
  CHECK_FALSE(bench.waves.next_wave().has_value());
  bench.waves.finish_wave(*wave);
  REQUIRE(bench.waves.issued().size() == 1);  // the release let expert 1 in
  CHECK(bench.waves.issued()[0].id.expert == 1);
  CHECK(bench.waves.issued()[0].acquired.evicted == ExpertId{0, 4});
  CHECK(bench.waves.n_queued() == 1);
}

TEST_CASE("at any capacity each expert is read at most once and computed once") {
  for (int32_t capacity = 1; capacity <= kExperts + 1; ++capacity) {
    for (uint32_t seed = 0; seed < 40; ++seed) {
      CAPTURE(capacity);
      CAPTURE(seed);
      std::mt19937 rng(seed);
      const auto pick = [&](size_t n) { return rng() % static_cast<uint32_t>(n); };
      Bench bench(capacity);
      for (int32_t layer = 0; layer < 6; ++layer) {
        std::vector<int32_t> experts = first_experts(kExperts);
        std::shuffle(experts.begin(), experts.end(), rng);
        experts.resize(1 + pick(kExperts));
        std::map<int32_t, int32_t> n_read, n_computed;
        int32_t n_issued =
            static_cast<int32_t>(bench.waves.begin(kChat, layer % 3, experts).size());
        std::vector<ExpertId> in_flight;
        std::optional<Waves::Wave> wave;
        for (int32_t guard = 0; !bench.waves.finished(); ++guard) {
          REQUIRE(guard < 10000);
          switch (pick(4)) {
            case 0:
              if (in_flight.size() < 3 && bench.waves.has_fetch()) {
                const auto fetch = bench.waves.next_fetch();
                REQUIRE(fetch.has_value());
                REQUIRE(++n_read[fetch->id.expert] == 1);
                in_flight.push_back(fetch->id);
              }
              break;
            case 1:
              if (!in_flight.empty()) {
                std::swap(in_flight[pick(in_flight.size())], in_flight.back());
                REQUIRE(bench.waves.fetch_finished(in_flight.back()));
                in_flight.pop_back();
              }
              break;
            case 2:
              if (!wave) {
                wave = bench.waves.next_wave();
                for (size_t i = 0; wave && i < wave->experts.size(); ++i) {
                  const ExpertId id{layer % 3, wave->experts[i]};
                  REQUIRE(++n_computed[id.expert] == 1);
                  REQUIRE(bench.cache.residency(id) == Residency::kReady);
                  REQUIRE(bench.cache.slot_of(id) == wave->slots[i]);
                }
              }
              break;
            default:
              if (wave) {
                bench.waves.finish_wave(*wave);
                n_issued += static_cast<int32_t>(bench.waves.issued().size());
                wave.reset();
              }
          }
          bench.cache.check_integrity();
          REQUIRE(bench.cache.in_use(0) <= capacity);
        }
        REQUIRE(n_computed.size() == experts.size());
        REQUIRE(n_issued == static_cast<int32_t>(experts.size()));
        REQUIRE(bench.pinned(layer % 3) == 0);
        REQUIRE(in_flight.empty());
        REQUIRE(!bench.waves.has_fetch());
      }
    }
  }
}

TEST_CASE("a failed fetch gives the layer up and releases everything") {
  Bench bench(4);
  bench.waves.begin(kChat, 0, first_experts(6));
  const auto first = bench.waves.next_fetch();
  const auto second = bench.waves.next_fetch();
  const auto third = bench.waves.next_fetch();
  CHECK(bench.waves.n_queued() == 1);
  CHECK(bench.waves.fetch_finished(first->id));
  const auto wave = bench.waves.next_wave();
  CHECK(bench.waves.fetch_failed(second->id));
  CHECK_FALSE(bench.waves.has_fetch());
  CHECK_FALSE(bench.waves.finished());  // the wave on the device still reads its slot
  CHECK(bench.cache.pins(first->id) == 1);
  CHECK(bench.pinned(0) == 1);
  bench.waves.finish_wave(*wave);
  CHECK(bench.waves.finished());
  CHECK(bench.pinned(0) == 0);
  CHECK(bench.cache.lent(0) == 1);
  CHECK_FALSE(bench.waves.fetch_finished(third->id));  // arrives unpinned
  CHECK(bench.cache.lent(0) == 0);
  CHECK(bench.cache.in_use(0) == 2);
  bench.cache.check_integrity();
}

TEST_CASE("an abandoned layer can be begun again and joins what is in flight") {
  Bench bench(2);
  bench.waves.begin(kChat, 1, first_experts(5));
  const auto first = bench.waves.next_fetch();
  bench.waves.abandon();
  CHECK(bench.waves.finished());
  CHECK_FALSE(bench.waves.next_wave().has_value());
  bench.cache.check_integrity();
  const auto issued = bench.waves.begin(kChat, 1, first_experts(3));
  REQUIRE(issued.size() == 2);
  CHECK(issued[0].id == first->id);
  CHECK(issued[0].acquired.outcome == Outcome::kJoined);
  CHECK(bench.waves.n_queued() == 1);  // the joined one is not read again
  CHECK(bench.waves.fetch_finished(first->id));
  CHECK(bench.waves.next_wave()->experts == std::vector<int32_t>{0});
}

TEST_CASE("slots held by fetches of nobody let the layer in as they end") {
  Bench bench(2);
  bench.waves.begin(kChat, 0, first_experts(2));
  const auto a = bench.waves.next_fetch();
  const auto b = bench.waves.next_fetch();
  bench.waves.abandon();
  CHECK(bench.waves.begin(kChat, 1, first_experts(2)).empty());
  CHECK_FALSE(bench.waves.finished());
  CHECK_FALSE(bench.waves.fetch_finished(a->id));
  REQUIRE(bench.waves.issued().size() == 1);
  CHECK(bench.waves.issued()[0].acquired.evicted == a->id);
  CHECK_FALSE(bench.waves.fetch_failed(b->id));
  CHECK(bench.waves.issued().size() == 1);
  CHECK(bench.waves.n_queued() == 2);
}

TEST_CASE("a layer with everything resident is one wave without a fetch") {
  Bench bench(kExperts);
  for (int32_t round = 0; round < 2; ++round) {
    bench.waves.begin(kChat, 2, first_experts(kExperts));
    CHECK(bench.waves.has_fetch() == (round == 0));
    while (const auto fetch = bench.waves.next_fetch()) {
      bench.waves.fetch_finished(fetch->id);
    }
    const auto wave = bench.waves.next_wave();
    REQUIRE(wave.has_value());
    CHECK(wave->experts == first_experts(kExperts));
    bench.waves.finish_wave(*wave);
    CHECK(bench.waves.finished());
  }
}
