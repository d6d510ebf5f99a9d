// model/hparams.h: the sizes and constants of a model, read from GGUF metadata with bounds.

#pragma once

#include <cstdint>
#include <string>

namespace runahead {

struct Hparams {
  std::string architecture;  // GGUF general.architecture
  int32_t n_layer = 0;
  int32_t n_embd = 0;
  int32_t n_head = 0;
  int32_t n_head_kv = 0;
  int32_t head_dim = 0;  // of Q, K and V
  int32_t n_expert = 0;
  int32_t n_expert_used = 0;
  int32_t n_ff_expert = 0;  // inner features of one expert
  int32_t n_vocab = 0;
  int32_t context_length = 0;  // the model was trained for
  float rms_eps = 1e-6F;
  float rope_base = 10000.0F;

  [[nodiscard]] int32_t n_embd_q() const { return n_head * head_dim; }
  [[nodiscard]] int32_t n_embd_kv() const { return n_head_kv * head_dim; }
};

}  // namespace runahead
