#include "exec/sampler.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "exec/grammar_check.h"

namespace runahead {
namespace {

constexpr int32_t kPenaltyWindow = 64;  // last tokens that repeat_penalty looks at
// Below this, logits divided by the temperature may overflow; the most likely token is all that is
// left anyway.
constexpr float kGreedyBelow = 1e-4F;

void check_range(const char* name, double value, double min, double max) {
  if (!(value >= min && value <= max)) {
    throw Error(ErrorCode::kInvalid, std::string(name) + " " + std::to_string(value) +
                                         " is not between " + std::to_string(min) + " and " +
                                         std::to_string(max));
  }
}

}  // namespace

Sampler::Sampler(const Vocab& vocab, const SamplerOptions& o)
    : chain_(llama_sampler_chain_init(llama_sampler_chain_default_params()), llama_sampler_free),
      n_vocab_(static_cast<size_t>(vocab.size())) {
  check_range("temperature", o.temperature, 0.0, 100.0);
  check_range("top_k", o.top_k, 0, INT32_MAX);
  check_range("top_p", o.top_p, 0.0, 1.0);
  check_range("min_p", o.min_p, 0.0, 1.0);
  check_range("repeat_penalty", o.repeat_penalty, 0.01, 100.0);
  const auto add = [&](llama_sampler* sampler) { llama_sampler_chain_add(chain_.get(), sampler); };
  int32_t n_suppressed = 0;
  const llama_token* suppressed = llama_vocab_get_suppress_tokens(vocab.get(), &n_suppressed);
  if (n_suppressed > 0) {
    std::vector<llama_logit_bias> never;
    for (const llama_token token : std::span(suppressed, static_cast<size_t>(n_suppressed))) {
      never.push_back({token, -INFINITY});
    }
    add(llama_sampler_init_logit_bias(vocab.size(), n_suppressed, never.data()));
  }
  if (!o.grammar.empty()) {
    check_grammar(o.grammar);
    llama_sampler* grammar = llama_sampler_init_grammar(vocab.get(), o.grammar.c_str(), "root");
    if (grammar == nullptr) {
      throw Error(ErrorCode::kInvalid,
                  "the grammar cannot be parsed: an escape or a token in it may be unknown");
    }
    add(grammar);
  }
  if (o.repeat_penalty != 1.0F) {
    add(llama_sampler_init_penalties(vocab.size(), kPenaltyWindow, o.repeat_penalty, 0.0F, 0.0F));
  }
  if (o.temperature < kGreedyBelow) {
    add(llama_sampler_init_greedy());
  } else {
    if (o.top_k > 0) {
      add(llama_sampler_init_top_k(o.top_k));
    }
    if (o.top_p < 1.0F) {
      add(llama_sampler_init_top_p(o.top_p, 1));
    }
    if (o.min_p > 0.0F) {
      add(llama_sampler_init_min_p(o.min_p, 1));
    }
    add(llama_sampler_init_temp(o.temperature));
    // To libllama its default is not a seed, but the wish for one that differs each time.
    add(llama_sampler_init_dist(o.seed == LLAMA_DEFAULT_SEED ? o.seed - 1 : o.seed));
  }
}

int32_t Sampler::sample(std::span<const float> logits) {
  const size_t n = std::min(n_vocab_, logits.size());
  candidates_.resize(n);  // here, so that requests that wait take no memory for it
  for (size_t i = 0; i < n; ++i) {
    if (!std::isfinite(logits[i])) {
      throw Error(ErrorCode::kBadFile, "the model computed " + std::to_string(logits[i]) +
                                           " for token " + std::to_string(i) +
                                           ", not a finite number: its weights may be damaged");
    }
    candidates_[i] = {static_cast<llama_token>(i), logits[i], 0.0F};
  }
  llama_token_data_array array{candidates_.data(), n, -1, false};
  llama_sampler_apply(chain_.get(), &array);
  CHECK(array.selected >= 0 && static_cast<size_t>(array.selected) < array.size);
  const llama_token token = array.data[array.selected].id;
  if (std::isinf(array.data[array.selected].logit)) {
    throw Error(ErrorCode::kInvalid, "the grammar allows no token of this model's vocabulary here");
  }
  llama_sampler_accept(chain_.get(), token);
  return token;
}

void Sampler::accept(int32_t token) {
  llama_sampler_accept(chain_.get(), token);
}

}  // namespace runahead
