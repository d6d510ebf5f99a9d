// exec_model.h
//
// ExecModel says how a tiny qwen3moe model looks; builder() makes its GGUF with random weights and
// a vocabulary of single bytes. Everything a test wants broken is a field, or can be changed in the
// builder.

#pragma once

#include <array>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "gguf_builder.h"
#include "store_model.h"

namespace runahead::test {

constexpr int32_t kExecVocab = 272;
constexpr int32_t kExecEnd = 258;  // <|im_end|>

// The character that stands for each byte in GPT-2's byte-level BPE, as UTF-8.
inline std::vector<std::string> byte_symbols() {
  std::vector<std::string> symbols;
  uint32_t n_moved = 0;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte < 0x7f) || (byte >= 0xa1 && byte != 0xad);
    const uint32_t code = printable ? byte : 256 + n_moved++;
    symbols.push_back(code < 0x80 ? std::string(1, static_cast<char>(code))
                                  : std::string{static_cast<char>(0xc0 | (code >> 6)),
                                                static_cast<char>(0x80 | (code & 0x3f))});
  }
  return symbols;
}

inline std::vector<std::string> byte_tokens() {
  std::vector<std::string> tokens = byte_symbols();
  for (const char* special : {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}) {
    tokens.emplace_back(special);
  }
  for (int32_t i = 0; static_cast<int32_t>(tokens.size()) < kExecVocab; ++i) {
    tokens.push_back("<|unused_" + std::to_string(i) + "|>");
  }
  return tokens;
}

struct ExecModel {
  int32_t n_layer = 3;
  int32_t n_embd = 64;
  int32_t n_head = 4;
  int32_t n_head_kv = 2;
  int32_t head_dim = 16;
  int32_t n_expert = 8;
  int32_t n_used = 2;
  int32_t n_ff = 64;
  int32_t context = 2048;
  ggml_type embedding = GGML_TYPE_F32;
  ggml_type attention = GGML_TYPE_F32;
  std::array<ggml_type, 3> experts{GGML_TYPE_F32, GGML_TYPE_F32, GGML_TYPE_F32};
  ggml_type odd_down = GGML_TYPE_COUNT;  // of layer 1: makes a second slot class
  bool with_output = true;               // else the embedding is the head
  uint32_t seed = 1;

  // Rows as long as blocks of 256 need, in the types of a Q4_K_M file, and two slot classes.
  static ExecModel quantised() {
    ExecModel m;
    m.n_layer = 2;
    m.n_embd = 256;
    m.n_ff = 256;
    m.head_dim = 64;
    m.embedding = GGML_TYPE_Q6_K;
    m.attention = GGML_TYPE_Q4_K;
    m.experts = {GGML_TYPE_Q4_0, GGML_TYPE_Q4_K, GGML_TYPE_Q6_K};
    m.odd_down = GGML_TYPE_Q4_0;
    m.with_output = false;
    return m;
  }
  // Records large enough to be read in parts.
  static ExecModel large_records() {
    ExecModel m;
    m.n_layer = 2;
    m.n_ff = 1024;
    return m;
  }

  [[nodiscard]] GgufBuilder builder() const {
    GgufBuilder b;
    b.add_kv_string("general.architecture", "qwen3moe");
    const auto number = [&](const char* key, int32_t value) {
      b.add_kv_u32(std::string("qwen3moe.") + key, static_cast<uint32_t>(value));
    };
    number("block_count", n_layer);
    number("embedding_length", n_embd);
    number("attention.head_count", n_head);
    number("attention.head_count_kv", n_head_kv);
    number("attention.key_length", head_dim);
    number("attention.value_length", head_dim);
    number("expert_count", n_expert);
    number("expert_used_count", n_used);
    number("expert_feed_forward_length", n_ff);
    number("context_length", context);
    b.add_kv_f32("qwen3moe.attention.layer_norm_rms_epsilon", 1e-6F);
    b.add_kv_f32("qwen3moe.rope.freq_base", 10000.0F);
    add_tokenizer(b);

    add_matrix(b, "token_embd.weight", embedding, {n_embd, kExecVocab}, 1.0F);
    add_vector(b, "output_norm.weight", n_embd);
    if (with_output) {
      add_matrix(b, "output.weight", embedding, {n_embd, kExecVocab}, 0.3F);
    }
    for (int32_t il = 0; il < n_layer; ++il) {
      const std::string p = "blk." + std::to_string(il) + ".";
      add_vector(b, p + "attn_norm.weight", n_embd);
      add_matrix(b, p + "attn_q.weight", attention, {n_embd, n_head * head_dim}, 0.2F);
      add_matrix(b, p + "attn_k.weight", attention, {n_embd, n_head_kv * head_dim}, 0.2F);
      add_matrix(b, p + "attn_v.weight", attention, {n_embd, n_head_kv * head_dim}, 0.2F);
      add_vector(b, p + "attn_q_norm.weight", head_dim);
      add_vector(b, p + "attn_k_norm.weight", head_dim);
      add_matrix(b, p + "attn_output.weight", attention, {n_head * head_dim, n_embd}, 0.2F);
      add_vector(b, p + "ffn_norm.weight", n_embd);
      add_matrix(b, p + "ffn_gate_inp.weight", GGML_TYPE_F32, {n_embd, n_expert}, 0.5F);
      const ggml_type down = il == 1 && odd_down != GGML_TYPE_COUNT ? odd_down : experts[2];
      add_matrix(b, p + "ffn_gate_exps.weight", experts[0], {n_embd, n_ff, n_expert}, 0.2F);
      add_matrix(b, p + "ffn_up_exps.weight", experts[1], {n_embd, n_ff, n_expert}, 0.2F);
      add_matrix(b, p + "ffn_down_exps.weight", down, {n_ff, n_embd, n_expert}, 0.2F);
    }
    return b;
  }

 private:
  static void add_tokenizer(GgufBuilder& b) {
    std::vector<int32_t> types(kExecVocab, 5);  // unused
    std::fill_n(types.begin(), 256, 1);         // normal
    std::fill_n(types.begin() + 256, 3, 3);     // control
    b.add_kv_string("tokenizer.ggml.model", "gpt2");
    b.add_kv_string("tokenizer.ggml.pre", "qwen2");
    b.add_kv_strings("tokenizer.ggml.tokens", byte_tokens());
    b.add_kv_array<int32_t>("tokenizer.ggml.token_type", types);
    b.add_kv_strings("tokenizer.ggml.merges", {});
    b.add_kv_u32("tokenizer.ggml.bos_token_id", 256);
    b.add_kv_u32("tokenizer.ggml.eos_token_id", kExecEnd);
    b.add_kv_bool("tokenizer.ggml.add_bos_token", false);
  }

  void add_matrix(GgufBuilder& b, const std::string& name, ggml_type type,
                  const std::vector<int64_t>& ne, float scale) const {
    size_t n = 1;
    for (const int64_t d : ne) {
      n *= static_cast<size_t>(d);
    }
    std::vector<float> values = random(b, n, scale);
    const std::vector<float> importance(static_cast<size_t>(ne[0]), 1.0F);
    std::string bytes(GgufBuilder::tensor_bytes(type, ne), '\0');
    ggml_quantize_chunk(type, values.data(), bytes.data(), 0, static_cast<int64_t>(n) / ne[0],
                        ne[0], importance.data());
    b.add_tensor(name, type, ne, bytes);
  }
  void add_vector(GgufBuilder& b, const std::string& name, int64_t n) const {
    std::vector<float> values = random(b, static_cast<size_t>(n), 0.1F);
    for (float& value : values) {
      value += 1.0F;
    }
    b.add_tensor(name, GGML_TYPE_F32, {n}, values);
  }
  [[nodiscard]] std::vector<float> random(const GgufBuilder& b, size_t n, float scale) const {
    std::mt19937 generator(seed * 1000 + static_cast<uint32_t>(b.tensors.size()));
    std::normal_distribution<float> normal(0.0F, scale);
    std::vector<float> values(n);
    for (float& value : values) {
      value = normal(generator);
    }
    return values;
  }
};

}  // namespace runahead::test
