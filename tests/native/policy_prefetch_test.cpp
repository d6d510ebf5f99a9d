#include <cmath>
#include <random>
#include <set>
#include <string>

#include "base/error.h"
#include "policy/finemoe.h"
#include "policy/prefetcher.h"
#include "policy_routes.h"

#undef CHECK  // doctest's from here on
#include <doctest/doctest.h>

using namespace runahead;

namespace {

using Experts = std::vector<int32_t>;

// A random but repeatable run: every request through all layers, some reads between the jobs.
class RandomRun {
 public:
  explicit RandomRun(const ModelShape& shape) : shape_(shape) {}

  template <class F>  // f(route, predictions)
  void play(Prefetcher& prefetcher, int32_t n_step, F f) {
    const std::vector<RequestId> requests = {RequestId{4}, RequestId{7}, RequestId{9}};
    const int32_t n_lookahead = prefetcher.needs().n_lookahead;
    for (int32_t step = 0; step < n_step; ++step) {
      prefetcher.step_started(requests);
      for (int32_t layer = 0; layer < shape_.n_layer; ++layer) {
        for (const RequestId request : requests) {
          Route route;
          route.request = to_int(request);
          route.layer = layer;
          route.probabilities = random_scores();
          route.experts = top(route.probabilities, shape_.n_expert_used);
          for (int32_t d = 0; d < std::min(n_lookahead, shape_.n_layer - 1 - layer); ++d) {
            const std::vector<float> row = random_scores();
            route.lookahead.insert(route.lookahead.end(), row.begin(), row.end());
          }
          route.n_waiting = static_cast<int32_t>(rng_() % 4);
          f(route, ask(prefetcher, route));
          for (uint32_t read = rng_() % 4; read > 0; --read) {
            prefetcher.fetched({layer, 0}, read == 1);
          }
        }
      }
    }
  }

 private:
  std::vector<float> random_scores() {
    std::vector<float> all(static_cast<size_t>(shape_.n_expert));
    float sum = 0;
    for (float& score : all) {
      score = std::exp(static_cast<float>(rng_() % 1000) / 200);
      sum += score;
    }
    for (float& score : all) {
      score /= sum;
    }
    return all;
  }

  ModelShape shape_;
  std::mt19937 rng_{5};
};

constexpr ModelShape kSmall{.n_layer = 7, .n_expert = 8, .n_expert_used = 2};

// A token that chooses the same two experts at every layer, by 0.6 and 0.3.
Route step_of(int32_t layer, int32_t first, int32_t second, int32_t request = 0) {
  Route route;
  route.request = request;
  route.layer = layer;
  route.probabilities = scores(kSmall.n_expert, {{first, 0.6F}, {second, 0.3F}});
  route.experts = {first, second};
  return route;
}

void pass(Prefetcher& prefetcher, std::vector<Experts> layers) {
  const std::vector<RequestId> requests = {RequestId{0}};
  prefetcher.step_started(requests);
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    (void)ask(prefetcher, step_of(static_cast<int32_t>(layer), layers[layer][0], layers[layer][1]));
  }
}

std::vector<Experts> always(int32_t first, int32_t second) {
  return std::vector<Experts>(static_cast<size_t>(kSmall.n_layer), Experts{first, second});
}

void begin(Prefetcher& prefetcher) {
  const std::vector<RequestId> requests = {RequestId{0}};
  prefetcher.step_started(requests);
}

}  // namespace

TEST_CASE("every prefetcher names distinct experts of later layers, by chances") {
  const ModelShape shape{.n_layer = 6, .n_expert = 12, .n_expert_used = 3};
  for (const std::string_view name : prefetcher_names()) {
    CAPTURE(name);
    const auto prefetcher = make_prefetcher(name, shape);
    if (prefetcher == nullptr) {
      CHECK(name == "none");
      continue;
    }
    size_t n_predictions = 0;
    RandomRun(shape).play(*prefetcher, 60, [&](const Route& route, const auto& predictions) {
      std::set<ExpertId> ids;
      for (const Prediction& prediction : predictions) {
        CHECK(prediction.id.layer > route.layer);
        CHECK(prediction.id.layer < shape.n_layer);
        CHECK(prediction.id.expert >= 0);
        CHECK(prediction.id.expert < shape.n_expert);
        CHECK(prediction.score >= 0);
        CHECK(prediction.score <= 1);
        ids.insert(prediction.id);
      }
      CHECK(ids.size() == predictions.size());
      n_predictions += predictions.size();
    });
    CHECK(n_predictions > 60U);
  }
}

TEST_CASE("the same run brings the same predictions") {
  const ModelShape shape{.n_layer = 6, .n_expert = 12, .n_expert_used = 3};
  for (const std::string_view name : prefetcher_names()) {
    CAPTURE(name);
    std::vector<Prediction> runs[2];
    for (auto& run : runs) {
      if (const auto prefetcher = make_prefetcher(name, shape)) {
        RandomRun(shape).play(*prefetcher, 50, [&](const Route&, const auto& predictions) {
          run.insert(run.end(), predictions.begin(), predictions.end());
        });
      }
    }
    CHECK(std::equal(runs[0].begin(), runs[0].end(), runs[1].begin(), runs[1].end(),
                     [](const Prediction& a, const Prediction& b) {
                       return a.id == b.id && a.score == b.score;
                     }));
  }
}

TEST_CASE("an unknown prefetcher is refused with what is known") {
  std::string refusal;
  try {
    (void)make_prefetcher("oracle", kSmall);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kInvalid);
    refusal = error.what();
  }
  CHECK(refusal ==
        "unknown prefetch \"oracle\"; this version knows: none, next-router, specmd, finemoe, "
        "promoe, prescope");
}

TEST_CASE("the next router names as many as a token uses, SpecMD half as many again") {
  const ModelShape shape{.n_layer = 3, .n_expert = 16, .n_expert_used = 8};
  Route route;
  route.layer = 1;
  for (int32_t expert = 0; expert < shape.n_expert; ++expert) {  // best first: 5 .. 0, 15 .. 6
    route.lookahead.push_back(static_cast<float>((expert + 10) % 16) / 120);
  }
  for (const auto& [name, n] : {std::pair{"next-router", 8}, std::pair{"specmd", 12}}) {
    CAPTURE(name);
    const auto prefetcher = make_prefetcher(name, shape);
    const std::vector<Prediction> predictions = ask(*prefetcher, route);
    REQUIRE(predictions.size() == static_cast<size_t>(n));
    CHECK(predictions[0].id == ExpertId{2, 5});
    CHECK(predictions[0].score == doctest::Approx(15.0 / 120));
    CHECK(predictions[6].id == ExpertId{2, 15});
    CHECK(predictions.back().score == doctest::Approx((16 - n) / 120.0));
    CHECK(ask(*prefetcher, {.layer = 2}).empty());
  }
}

TEST_CASE("of equally likely experts the next router takes the lower index") {
  const ModelShape shape{.n_layer = 2, .n_expert = 16, .n_expert_used = 4};
  const auto prefetcher = make_prefetcher("next-router", shape);
  const Route route{.layer = 0, .lookahead = scores(16, {{9, 0.4F}})};
  CHECK(experts_of(ask(*prefetcher, route), 1) == Experts{0, 1, 2, 9});
}

TEST_CASE("finemoe predicts what followed the most similar of the stored tokens") {
  const auto prefetcher = make_finemoe(kSmall);
  std::vector<Experts> left = always(0, 1);
  std::vector<Experts> right = always(2, 3);
  left[3] = {6, 7};
  left[4] = {4, 5};
  pass(*prefetcher, left);
  pass(*prefetcher, right);

  SUBCASE("the first job of a token predicts the next three layers") {
    begin(*prefetcher);
    const auto predictions = ask(*prefetcher, step_of(0, 0, 1));
    CHECK(experts_of(predictions, 1) == Experts{0, 1});
    CHECK(experts_of(predictions, 2) == Experts{0, 1});
    CHECK(experts_of(predictions, 3) == Experts{6, 7});
  }
  SUBCASE("a later one the layer at distance three, with the map's probabilities") {
    begin(*prefetcher);
    (void)ask(*prefetcher, step_of(0, 0, 1));
    const auto predictions = ask(*prefetcher, step_of(1, 0, 1));
    CHECK(experts_of(predictions, 4) == Experts{4, 5});
    CHECK(predictions[0].id == ExpertId{4, 4});
    CHECK(predictions[0].score == doctest::Approx(0.6).epsilon(0.01));
    CHECK(predictions[1].id == ExpertId{4, 5});
    CHECK(predictions[1].score == doctest::Approx(0.3).epsilon(0.01));
    // Evictions hear of every expert of the layer, each once.
    std::set<int32_t> all;
    for (const Prediction& prediction : predictions) {
      CHECK(prediction.id.layer == 4);
      all.insert(prediction.id.expert);
    }
    CHECK(predictions.size() == static_cast<size_t>(kSmall.n_expert));
    CHECK(all.size() == predictions.size());
  }
  SUBCASE("the whole trajectory is compared, not its last layer") {
    begin(*prefetcher);
    (void)ask(*prefetcher, step_of(0, 0, 1));
    (void)ask(*prefetcher, step_of(1, 0, 1));
    CHECK(experts_of(ask(*prefetcher, step_of(2, 2, 3)), 5) == Experts{0, 1});
  }
  SUBCASE("and a token that turns is matched anew") {
    begin(*prefetcher);
    (void)ask(*prefetcher, step_of(0, 0, 1));
    (void)ask(*prefetcher, step_of(1, 2, 3));
    CHECK(experts_of(ask(*prefetcher, step_of(2, 2, 3)), 5) == Experts{2, 3});
  }
  SUBCASE("requests have their own trajectories") {
    const std::vector<RequestId> both = {RequestId{0}, RequestId{5}};
    prefetcher->step_started(both);
    (void)ask(*prefetcher, step_of(0, 0, 1, 0));
    CHECK(experts_of(ask(*prefetcher, step_of(0, 2, 3, 5)), 3) == Experts{2, 3});
    CHECK(experts_of(ask(*prefetcher, step_of(1, 0, 1, 0)), 4) == Experts{4, 5});
  }
  SUBCASE("the last layers have no layer at the distance") {
    begin(*prefetcher);
    for (int32_t layer = 0; layer < kSmall.n_layer; ++layer) {
      CHECK(ask(*prefetcher, step_of(layer, 0, 1)).empty() == (layer > 3));
    }
  }
}

TEST_CASE("finemoe takes more experts the less alike its match is") {
  const auto prefetcher = make_finemoe(kSmall);
  begin(*prefetcher);
  const std::vector<float> sure = scores(kSmall.n_expert, {{0, 1.0F}});
  const std::vector<float> unsure = {0.25F, 0.2F, 0.15F, 0.12F, 0.1F, 0.08F, 0.06F, 0.04F};
  for (int32_t layer = 0; layer < kSmall.n_layer; ++layer) {
    (void)ask(*prefetcher,
              {.layer = layer, .probabilities = layer == 0 ? sure : unsure, .experts = {0, 1}});
  }
  begin(*prefetcher);
  const auto alike = ask(*prefetcher, {.layer = 0, .probabilities = sure, .experts = {0, 1}});
  CHECK(experts_of(alike, 1) == Experts{0, 1});  // never fewer than a token uses
  begin(*prefetcher);
  const auto half = scores(kSmall.n_expert, {{0, 0.25F}, {1, 0.25F}, {2, 0.25F}, {3, 0.25F}});
  const auto unlike = ask(*prefetcher, {.layer = 0, .probabilities = half, .experts = {0, 1}});
  CHECK(experts_of(unlike, 1) == Experts{0, 1, 2});  // a mass of 0.5 = 1 - cosine
}

TEST_CASE("finemoe's store is bounded and replaces the map most similar to the new one") {
  const auto prefetcher = make_finemoe(kSmall, 2);
  pass(*prefetcher, always(0, 1));
  pass(*prefetcher, always(2, 3));
  std::vector<Experts> changed = always(2, 3);
  changed[3] = {6, 7};
  pass(*prefetcher, changed);

  begin(*prefetcher);
  CHECK(experts_of(ask(*prefetcher, step_of(0, 2, 3)), 3) == Experts{6, 7});
  begin(*prefetcher);
  CHECK(experts_of(ask(*prefetcher, step_of(0, 0, 1)), 3) == Experts{0, 1});
}

TEST_CASE("finemoe compares the tokens that end a step together with each other too") {
  const auto prefetcher = make_finemoe(kSmall, 2);
  pass(*prefetcher, always(4, 5));
  const std::vector<RequestId> both = {RequestId{0}, RequestId{1}};
  prefetcher->step_started(both);
  for (int32_t layer = 0; layer < kSmall.n_layer; ++layer) {  // the second replaces the first
    (void)ask(*prefetcher, step_of(layer, 0, 1, 0));
    (void)ask(*prefetcher, step_of(layer, 0, layer == 3 ? 7 : 1, 1));
  }
  begin(*prefetcher);
  CHECK(experts_of(ask(*prefetcher, step_of(0, 0, 1)), 3) == Experts{0, 7});
  begin(*prefetcher);
  CHECK(experts_of(ask(*prefetcher, step_of(0, 4, 5)), 3) == Experts{4, 5});
}

TEST_CASE("finemoe stores no token that did not reach the last layer") {
  const auto prefetcher = make_finemoe(kSmall);
  std::vector<Experts> cut = always(0, 1);
  cut.pop_back();
  pass(*prefetcher, cut);
  begin(*prefetcher);
  CHECK(ask(*prefetcher, step_of(0, 0, 1)).empty());
}
