#include "sim/score_reader.h"

#include <ggml.h>

#include <limits>
#include <string>

#include "base/error.h"

#undef CHECK  // doctest's from here on
#include <doctest/doctest.h>

using namespace runahead;

namespace {

// 1 step, 2 requests, 3 layers, 2 experts, 1 used; scores count up in 64ths, so they are exact in
// half precision.
struct Scored {
  static constexpr int32_t kLookahead = 2;
  std::vector<float> probabilities, lookahead;
  RoutingTrace trace{1, 2, 3, 2, 1, {0, 1, 0, 1, 0, 1}};

  Scored() {
    for (int i = 0; i < 2 * 3 * 2; ++i) {
      probabilities.push_back(static_cast<float>(i) / 64);
    }
    for (int i = 0; i < 2 * 3 * kLookahead * 2; ++i) {
      lookahead.push_back(static_cast<float>(30 + i) / 64);
    }
    trace.probabilities = ScoreArray(std::span<const float>(probabilities));
    trace.lookahead = ScoreArray(std::span<const float>(lookahead));
    trace.n_lookahead = kLookahead;
  }
};

std::vector<float> copy_of(std::span<const float> scores) {
  return {scores.begin(), scores.end()};
}

// Of one job.
RouterScores read(ScoreReader& reader, int32_t request, int32_t layer) {
  const RequestId id{request};
  return reader.read(0, {&id, 1}, layer)[0];
}

template <class F>
std::string refusal(F f) {
  try {
    f();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("scores are those of the job, cut to the layers that there are") {
  const Scored scored;
  scored.trace.validate();
  ScoreReader reader(scored.trace, {true, 2});
  const RouterScores first = read(reader, 0, 0);
  CHECK(copy_of(first.probabilities) == std::vector<float>{0, 1.F / 64});
  CHECK(copy_of(first.lookahead) == std::vector<float>{30.F / 64, 31.F / 64, 32.F / 64, 33.F / 64});
  const RouterScores second = read(reader, 1, 1);  // job 4: one layer follows
  CHECK(copy_of(second.probabilities) == std::vector<float>{8.F / 64, 9.F / 64});
  CHECK(copy_of(second.lookahead) == std::vector<float>{46.F / 64, 47.F / 64});
  CHECK(read(reader, 1, 2).lookahead.empty());
}

TEST_CASE("the scores of jobs that are routed together are all there at once") {
  const Scored scored;
  ScoreReader reader(scored.trace, {true, 2});
  const std::vector<RequestId> both = {RequestId{1}, RequestId{0}};
  for (const int32_t layer : {0, 1}) {
    const std::span<const RouterScores> scores = reader.read(0, both, layer);
    REQUIRE(scores.size() == 2);
    const auto place = static_cast<size_t>(layer);
    const auto n_ahead = static_cast<size_t>(2 * (2 - layer));
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const size_t job = (1 - i) * 3 + place;
      CHECK(copy_of(scores[i].probabilities) ==
            copy_of(std::span(scored.probabilities).subspan(job * 2, 2)));
      CHECK(copy_of(scores[i].lookahead) ==
            copy_of(std::span(scored.lookahead).subspan(job * 4, n_ahead)));
    }
  }
}

TEST_CASE("scores that are not needed are not handed out") {
  const Scored scored;
  ScoreReader one(scored.trace, {false, 1});
  CHECK(read(one, 0, 0).probabilities.empty());
  CHECK(copy_of(read(one, 0, 0).lookahead) == std::vector<float>{30.F / 64, 31.F / 64});
  ScoreReader none(scored.trace, {});
  CHECK(read(none, 0, 0).lookahead.empty());
}

TEST_CASE("half precision is read as the same numbers") {
  Scored scored;
  std::vector<uint16_t> halves(scored.probabilities.size());
  ggml_fp32_to_fp16_row(scored.probabilities.data(), halves.data(),
                        static_cast<int64_t>(halves.size()));
  scored.trace.probabilities = ScoreArray(std::span<const uint16_t>(halves));
  scored.trace.validate();
  ScoreReader reader(scored.trace, {true, 0});
  CHECK(copy_of(read(reader, 1, 2).probabilities) == std::vector<float>{10.F / 64, 11.F / 64});
}

TEST_CASE("a trace without the scores that a prefetcher needs is refused") {
  Scored scored;
  CHECK(refusal([&] { ScoreReader(scored.trace, {true, 2}); }).empty());
  // Only two layers follow the first, so nobody can look further.
  CHECK(refusal([&] { ScoreReader(scored.trace, {true, 3}); }).empty());
  scored.trace.n_lookahead = 1;
  CHECK(refusal([&] {
          ScoreReader(scored.trace, {true, 3});
        }).find("looks 2 layers ahead, the trace only 1") != std::string::npos);
  scored.trace.probabilities = {};
  CHECK(refusal([&] {
          ScoreReader(scored.trace, {true, 0});
        }).find("probabilities, the trace has none") != std::string::npos);
}

TEST_CASE("damaged scores are refused when they are read") {
  for (const float bad : {-0.5F, 1.5F, std::numeric_limits<float>::quiet_NaN()}) {
    Scored scored;
    scored.probabilities[3] = bad;
    ScoreReader reader(scored.trace, {true, 0});
    CHECK(refusal([&] { (void)read(reader, 0, 0); }).empty());
    CHECK(refusal([&] { (void)read(reader, 0, 1); }).find("not 0 .. 1") != std::string::npos);
  }
}

TEST_CASE("scores of another shape are refused") {
  Scored scored;
  scored.probabilities.pop_back();
  scored.trace.probabilities = ScoreArray(std::span<const float>(scored.probabilities));
  CHECK(refusal([&] { scored.trace.validate(); }) ==
        "routing trace: has 11 probabilities, its shape needs 12");
  Scored other;
  other.trace.n_lookahead = 3;
  CHECK(refusal([&] { other.trace.validate(); }) ==
        "routing trace: has 24 lookahead scores, its shape needs 36");
}
