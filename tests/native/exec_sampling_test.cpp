// Sampling options and grammars as the engine takes or refuses them.

#include <cmath>

#include "exec_run.h"

namespace runahead::test {

TEST_CASE("exec: sampling options and grammars") {
  ExecFiles files{ExecModel{}};
  Engine engine(files.gguf_path(), small_options(), {});
  Listener listener(engine);
  const auto refused = [&](const std::function<void(SamplerOptions&)>& change) {
    RequestOptions options = request({1}, 2);
    change(options.sampler);
    return error_of([&] { engine.submit(options); });
  };
  CHECK(has(refused([](auto& s) { s.temperature = -1; }), "invalid: temperature"));
  CHECK(has(refused([](auto& s) { s.temperature = NAN; }), "invalid: temperature nan"));
  CHECK(has(refused([](auto& s) { s.top_k = -1; }), "invalid: top_k"));
  CHECK(has(refused([](auto& s) { s.top_p = 1.5F; }), "invalid: top_p"));
  CHECK(has(refused([](auto& s) { s.min_p = NAN; }), "invalid: min_p"));
  CHECK(has(refused([](auto& s) { s.repeat_penalty = 0; }), "invalid: repeat_penalty"));
  CHECK(has(refused([](auto& s) { s.grammar = "root ::= ("; }), "grammar cannot be parsed"));
  CHECK(has(refused([](auto& s) { s.grammar = "other ::= \"a\""; }), "grammar cannot be parsed"));
  CHECK(has(refused([](auto& s) { s.grammar = "root ::= root"; }), "may begin with itself"));
  CHECK(has(refused([](auto& s) { s.grammar = "root ::= \"\\q\""; }), "grammar cannot be parsed"));
  CHECK(has(refused([](auto& s) { s.grammar = "root ::= " + std::string(50000, '('); }),
            "parentheses"));
  CHECK(has(refused([](auto& s) { s.grammar = std::string(100000, '#'); }), "the grammar has"));

  const auto with = [&](float temperature, const std::string& grammar) {
    RequestOptions options = request({1, 2, 3}, 20);
    options.ignore_end = false;
    options.sampler.temperature = temperature;
    options.sampler.top_k = 0;
    options.sampler.grammar = grammar;
    return run_one(engine, listener, options);
  };
  for (const float temperature : {0.0F, 1e-38F, 1.0F, 100.0F}) {
    CAPTURE(temperature);
    const Ended free = with(temperature, "");
    CHECK((free.reason == "length" || free.reason == "stop"));
    if (temperature < 1e-6F) {
      CHECK(free.tokens == with(0.0F, "").tokens);
    }
    const Ended bound = with(temperature, "root ::= \"(\" [a-c] [a-c] \"(((\" # ((((");
    CHECK(bound.reason == "stop");
    REQUIRE(bound.tokens.size() == 6);
    CHECK(bound.tokens[0] == '(');
    // No token of bytes has this character as a whole, but its bytes are tokens.
    CHECK(with(temperature, "root ::= \"\xe2\x82\xac\"").reason == "stop");
  }
  RequestOptions forced = request({1}, 2);
  forced.forced = {kExecEnd};
  forced.sampler.grammar = "root ::= \"a\"";
  CHECK(has(error_of([&] { engine.submit(forced); }), "invalid: forced tokens and a grammar"));
  CHECK(run_one(engine, listener, request({1}, 2)).reason == "length");
}

TEST_CASE("exec: a grammar that allows no token ends the request") {
  // Where all is rejected, samplers take what comes first: here a token that ends the text, which
  // libllama's grammar would end the process for.
  GgufBuilder b = ExecModel{}.builder();
  b.kv("tokenizer.ggml.eos_token_id").payload = raw<uint32_t>(0);
  ExecFiles files(b);
  Engine engine(files.gguf_path(), small_options(), {});
  Listener listener(engine);
  for (const float temperature : {0.0F, 1.0F}) {
    RequestOptions options = request({1, 2}, 5);
    options.sampler.temperature = temperature;
    options.sampler.grammar = "root ::= <[5000]>";
    const Ended ended = run_one(engine, listener, options);
    CHECK(ended.reason == "error");
    CHECK(has(ended.detail, "the grammar allows no token"));
  }
  CHECK(run_one(engine, listener, request({1}, 2)).reason == "length");
}

TEST_CASE("exec: any seed gives the same reply each time") {
  ExecFiles files{ExecModel{}};
  Engine engine(files.gguf_path(), small_options(), {});
  Listener listener(engine);
  for (const uint32_t seed : {0U, UINT32_MAX}) {  // to libllama the latter means none
    RequestOptions options = request({1, 2, 3}, 20);
    options.sampler.temperature = 1.0F;
    options.sampler.top_k = 0;
    options.sampler.seed = seed;
    CHECK(run_one(engine, listener, options).tokens == run_one(engine, listener, options).tokens);
  }
}

}  // namespace runahead::test
