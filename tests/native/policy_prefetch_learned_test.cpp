#include <random>

#include "policy/learned_scores.h"
#include "policy/prefetcher.h"
#include "policy_routes.h"

#undef CHECK  // doctest's from here on
#include <doctest/doctest.h>

using namespace runahead;

namespace {

constexpr ModelShape kShape{.n_layer = 8, .n_expert = 16, .n_expert_used = 2};

struct Hits {
  int32_t learned = 0;  // needed experts among the predictions
  int32_t plain = 0;    // among the first of each look-ahead row
  int32_t needed = 0;
};

int32_t common(std::span<const int32_t> a, std::span<const int32_t> b) {
  return static_cast<int32_t>(std::count_if(
      a.begin(), a.end(), [&](int32_t x) { return std::find(b.begin(), b.end(), x) != b.end(); }));
}

// A token of class c needs experts 2c + l and 2c + l + 5 (modulo 16) at layer l. Look-ahead is sure
// of the first and, when it errs, puts the one at + 9 before the second, always.
class Trace {
 public:
  Trace(uint32_t seed, bool errs) : rng_(seed), errs_(errs) {}

  void next_token() { token_ = static_cast<int32_t>(rng_() % 8); }

  [[nodiscard]] std::vector<int32_t> needed(int32_t layer) const {
    return {(2 * token_ + layer) % 16, (2 * token_ + layer + 5) % 16};
  }

  [[nodiscard]] Route route(int32_t layer, int32_t n_lookahead) {
    Route route;
    route.layer = layer;
    route.experts = needed(layer);
    route.probabilities = noisy({{route.experts[0], 0.5F}, {route.experts[1], 0.3F}});
    for (int32_t d = 1; d <= std::min(n_lookahead, kShape.n_layer - 1 - layer); ++d) {
      const std::vector<int32_t> next = needed(layer + d);
      std::vector<std::pair<int32_t, float>> row = {{next[0], 0.4F}, {next[1], 0.2F}};
      if (errs_) {
        row.emplace_back((2 * token_ + layer + d + 9) % 16, 0.3F);
      }
      const std::vector<float> noise = noisy(row);
      route.lookahead.insert(route.lookahead.end(), noise.begin(), noise.end());
    }
    return route;
  }

 private:
  std::vector<float> noisy(const std::vector<std::pair<int32_t, float>>& given) {
    std::vector<float> all = scores(kShape.n_expert, given);
    for (float& score : all) {
      score *= 1 + static_cast<float>(rng_() % 100) / 500;
    }
    return all;
  }

  std::mt19937 rng_;
  bool errs_;
  int32_t token_ = 0;
};

// Of one request, from the step `from` on, over all layers that the prefetcher predicts.
Hits run(std::string_view name, Trace trace, int32_t n_step, int32_t from) {
  const auto prefetcher = make_prefetcher(name, kShape);
  const std::vector<RequestId> requests = {RequestId{0}};
  Hits hits;
  for (int32_t step = 0; step < n_step; ++step) {
    prefetcher->step_started(requests);
    trace.next_token();
    for (int32_t layer = 0; layer < kShape.n_layer; ++layer) {
      const Route route = trace.route(layer, prefetcher->needs().n_lookahead);
      const std::vector<Prediction> predictions = ask(*prefetcher, route);
      const auto n_row = static_cast<size_t>(kShape.n_expert);
      for (size_t d = 0; step >= from && (d + 1) * n_row <= route.lookahead.size(); ++d) {
        const int32_t target = layer + 1 + static_cast<int32_t>(d);
        const std::vector<int32_t> named = experts_of(predictions, target);
        if (named.empty()) {
          continue;  // not this prefetcher's distance
        }
        REQUIRE(named.size() == static_cast<size_t>(kShape.n_expert_used));
        const std::vector<int32_t> needed = trace.needed(target);
        hits.learned += common(named, needed);
        hits.plain += common(top(std::span(route.lookahead).subspan(d * n_row, n_row), 2), needed);
        hits.needed += kShape.n_expert_used;
      }
    }
  }
  return hits;
}

}  // namespace

TEST_CASE("promoe learns what look-ahead always gets wrong") {
  const Hits hits = run("promoe", Trace(1, true), 400, 300);
  CHECK(hits.needed == 100 * 2 * 7);
  CHECK(hits.plain == hits.needed / 2);
  CHECK(hits.learned >= hits.needed * 95 / 100);
}

TEST_CASE("promoe begins with what look-ahead says") {
  const Hits hits = run("promoe", Trace(1, true), 20, 0);
  CHECK(hits.learned == hits.plain);
}

TEST_CASE("promoe is never worse than a look-ahead that is right") {
  const Hits hits = run("promoe", Trace(2, false), 400, 0);
  CHECK(hits.plain == hits.needed);
  CHECK(hits.learned == hits.needed);
}

TEST_CASE("promoe predicts the layer at its stride, and at first the layer before it too") {
  const auto prefetcher = make_prefetcher("promoe", kShape);
  Trace trace(3, false);
  const std::vector<RequestId> requests = {RequestId{0}};
  prefetcher->step_started(requests);
  const auto first = ask(*prefetcher, trace.route(0, 2));
  CHECK(experts_of(first, 1).size() == 2);
  CHECK(experts_of(first, 2).size() == 2);
  const auto second = ask(*prefetcher, trace.route(1, 2));
  CHECK(second.size() == 2);
  CHECK(experts_of(second, 3).size() == 2);
  CHECK(ask(*prefetcher, trace.route(6, 2)).empty());
}

TEST_CASE("look-ahead is used again where learning from noise has harmed") {
  // Look-ahead is right by a hair, while the rest of its scores and this router's say nothing.
  LearnedScores learned(kShape, 1, 0);
  std::mt19937 rng(4);
  const auto any = [&] { return static_cast<int32_t>(rng() % 16); };
  const std::vector<RequestId> requests = {RequestId{0}};
  int32_t n_wrong = 0;
  for (int32_t step = 0; step < 600; ++step) {
    learned.step_started(requests);
    const int32_t first = any();
    const int32_t second = (first + 1 + any() % 15) % 16;
    const int32_t third = (first + 15) % 16;
    Route route{.layer = 2,
                .probabilities = scores(16, {{any(), 0.9F}}),
                .experts = {0, 1},
                .lookahead = scores(16, {{third, 0.28F}, {first, 0.3F}, {second, 0.29F}})};
    learned.observe(route.job());
    const std::vector<int32_t> needed = top(std::span(route.lookahead), 2);
    n_wrong += 2 - common(top(learned.predict(route.job(), 1), 2), needed);
    route.layer = 3;
    route.experts = needed;
    learned.observe(route.job());
  }
  CHECK(n_wrong <= 600 * 2 / 100);
}

namespace {

// At each of three layers ahead n_likely experts, from 2 on, that are about as likely.
Route unsure(int32_t n_likely, int32_t layer = 0) {
  Route route{
      .layer = layer, .probabilities = scores(16, {{0, 0.5F}, {1, 0.3F}}), .experts = {0, 1}};
  std::vector<std::pair<int32_t, float>> likely;
  for (int32_t i = 0; i < n_likely; ++i) {
    const float part = (1 - 0.01F * static_cast<float>(i)) / static_cast<float>(n_likely);
    likely.emplace_back(2 + i, 0.9F * part);
  }
  for (int32_t ahead = 0; ahead < std::min(3, kShape.n_layer - 1 - layer); ++ahead) {
    const auto row = scores(16, likely);
    route.lookahead.insert(route.lookahead.end(), row.begin(), row.end());
  }
  return route;
}

// What `asked`, the first job of a step, gets from PreScope while n_waiting reads wait. Before it
// there were 60 steps of two requests, in which any two of the n_likely experts were needed, and
// n_demand and n_prefetch reads ended per layer.
std::vector<Prediction> planned(int32_t n_likely, int32_t n_demand, int32_t n_prefetch,
                                int32_t n_waiting, Route asked) {
  const auto prefetcher = make_prefetcher("prescope", kShape);
  const std::vector<RequestId> requests = {RequestId{0}, RequestId{1}};
  std::mt19937 rng(5);
  for (int32_t step = 0; step < 60; ++step) {
    prefetcher->step_started(requests);
    for (int32_t layer = 0; layer < kShape.n_layer; ++layer) {
      for (const RequestId request : requests) {
        Route route = unsure(n_likely, layer);
        route.request = to_int(request);
        const auto n = static_cast<uint32_t>(n_likely);
        const uint32_t first = rng() % n;
        const uint32_t second = (first + 1 + rng() % (n - 1)) % n;
        route.experts = {2 + static_cast<int32_t>(first), 2 + static_cast<int32_t>(second)};
        (void)ask(*prefetcher, route);
      }
      for (int32_t read = 0; read < n_demand + n_prefetch; ++read) {
        prefetcher->fetched({layer, read}, read >= n_demand);
      }
    }
  }
  prefetcher->step_started(requests);
  asked.n_waiting = n_waiting;
  return ask(*prefetcher, asked);
}

}  // namespace

TEST_CASE("prescope's budget shrinks while demand waits") {
  const size_t idle = planned(4, 1, 3, 0, unsure(4)).size();
  const size_t busy = planned(4, 1, 3, 4, unsure(4)).size();
  const size_t full = planned(4, 1, 3, 100, unsure(4)).size();
  CHECK(idle > busy);
  CHECK(busy > full);
  CHECK(full == 0);
}

TEST_CASE("prescope takes unsure experts only where demand leaves the link free") {
  const auto free = planned(8, 0, 4, 0, unsure(8));
  REQUIRE(!free.empty());
  for (const Prediction& prediction : free) {  // two of eight are needed
    CHECK(prediction.score > 0.15F);
    CHECK(prediction.score < 0.4F);
  }
  CHECK(planned(8, 4, 0, 0, unsure(8)).empty());
  CHECK(!planned(2, 4, 0, 0, unsure(2)).empty());  // of two both are
}

TEST_CASE("prescope plans across layers: a sure expert of a later layer before an unsure one") {
  Route route = unsure(4);
  const auto sure = scores(16, {{2, 0.6F}, {3, 0.38F}});
  std::copy(sure.begin(), sure.end(), route.lookahead.begin() + 16);
  const auto predictions = planned(4, 1, 3, 4, route);
  REQUIRE(predictions.size() >= 2);
  CHECK(predictions[0].id.layer == 2);
  CHECK(predictions[1].id.layer == 2);
  CHECK(std::is_sorted(predictions.begin(), predictions.end(),
                       [](const Prediction& a, const Prediction& b) { return a.score > b.score; }));
  CHECK(experts_of(predictions, 1).size() < 4);
}
