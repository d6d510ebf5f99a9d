// exec/sampler.h: libllama's sampler chain for one request. Seeds are per request. Tokens that the
// file suppresses are never sampled. Engine thread only.

#pragma once

#include <llama.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/vocab.h"

namespace runahead {

struct SamplerOptions {
  uint32_t seed = 0;
  float temperature = 0.0F;  // 0: the most likely token
  int32_t top_k = 40;        // 0: off
  float top_p = 0.95F;       // 1: off
  float min_p = 0.05F;       // 0: off
  float repeat_penalty = 1.0F;
  std::string grammar;  // GBNF, "": none
};

class Sampler {
 public:
  // Throws Error(kInvalid) naming the option and its value.
  Sampler(const Vocab& vocab, const SamplerOptions& options);

  // The next token from logits [n_vocab]. Throws Error when they are not finite, or when the
  // grammar allows no token.
  [[nodiscard]] int32_t sample(std::span<const float> logits);
  // A token that was not sampled here (a forced one) is part of the text.
  void accept(int32_t token);

 private:
  std::unique_ptr<llama_sampler, decltype(&llama_sampler_free)> chain_;
  size_t n_vocab_;
  std::vector<llama_token_data> candidates_;
};

}  // namespace runahead
