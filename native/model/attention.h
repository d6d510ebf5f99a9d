// model/attention.h: attention over KV caches, as families use it.

#pragma once

#include <ggml.h>

#include <string>

#include "model/builder.h"

namespace runahead {

struct AttendOptions {
  float scale = 1.0F;            // of the scores
  ggml_tensor* sinks = nullptr;  // F32 [n_head]: a score per head that takes weight and gives none
};

// The layer's attention.scale, or 1 / sqrt(head_dim).
[[nodiscard]] float attention_scale(const Builder& b);

// Turns the leading n_rot values of each head by its position. factors: F32 [n_rot / 2] that divide
// the frequencies, or nullptr. x: [head_dim, n_head, n].
[[nodiscard]] ggml_tensor* rope(Builder& b, ggml_tensor* x, ggml_tensor* factors = nullptr);

// The file's factors of rotary frequencies: its only ones, or those for contexts up to what the
// model was first trained for, or for longer ones. nullptr: none.
[[nodiscard]] ggml_tensor* rope_factors(Builder& b);

// y [head_dim * n_head, n] as heads [head_dim, n_head, n], normalised by <name>_norm where there is
// one, per head or over the full width, whichever its length says.
[[nodiscard]] ggml_tensor* as_heads(Builder& b, const std::string& name, ggml_tensor* y,
                                    int64_t head_dim, int64_t n_head);

// Writes k, v to the caches, then looks at the positions that the layer's window allows. q:
// [head_dim, n_head, n], k: [head_dim, n_head_kv, n], v: [head_dim_v, n_head_kv, n] (nullptr where
// values are the first of the keys, v_dim of them). -> [head_dim_v * n_head, n]
[[nodiscard]] ggml_tensor* attend(Builder& b, ggml_tensor* q, ggml_tensor* k, ggml_tensor* v,
                                  const AttendOptions& options, int64_t v_dim = 0);

struct Heads {
  ggml_tensor* q;  // [head_dim, n_head, n]
  ggml_tensor* k;  // [head_dim, n_head_kv, n]
  ggml_tensor* v;  // [head_dim_v, n_head_kv, n]
};
// By attn_q, attn_k, attn_v, or by attn_qkv; not turned yet, and normalised as as_heads() does
// unless the family does that later. Without attn_v, V is K. x: normalised, [n_embd, n]. q_dim: of
// a head of attn_q, where that is not head_dim.
[[nodiscard]] Heads query_key_value(Builder& b, ggml_tensor* x, bool normalise = true,
                                    int64_t q_dim = 0);

// The usual one: query_key_value(), rotary embedding of Q and K, attn_output. x:
// normalised, [n_embd, n].
[[nodiscard]] ggml_tensor* grouped_query_attention(Builder& b, ggml_tensor* x);

// The same, where attn_q gives each head's query and, behind it, a gate: its sigmoid multiplies
// what the head found.
[[nodiscard]] ggml_tensor* gated_attention(Builder& b, ggml_tensor* x);

}  // namespace runahead
