// model/hparams.h
//
// The sizes and constants of a model, read from GGUF metadata with bounds (hparams_reader.h). What
// may differ from layer to layer is in LayerHparams.
//
// Layers are counted in two ways: `il` counts all layers of the model; a *job* is the index of a
// layer among those that have experts, which is all that scheduler, cache and store know of.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace runahead {

// Rotary embedding of positions.
struct Rope {
  int32_t n_rot = 0;  // leading values of a head that are turned; 0: none
  bool neox = true;   // pairs are n_rot / 2 apart; else they are neighbours
  float base = 10000.0F;
  float freq_scale = 1.0F;
  float ext_factor = 0.0F;  // 1: YaRN
  float attn_factor = 1.0F;
  int32_t n_ctx_orig = 0;
  bool operator==(const Rope&) const = default;
};

struct LayerHparams {
  bool has_experts = true;
  bool recurrent = false;  // keeps a state instead of keys and values
  bool fused_qkv = false;  // Q, K and V are one matrix
  int32_t n_head = 0;
  int32_t n_head_kv = 0;
  int32_t head_dim = 0;    // of Q and K
  int32_t head_dim_v = 0;  // 0: values are the first values of the keys
  int32_t window = 0;      // positions that attention looks back at, its own included; 0: all
  int32_t n_ff = 0;        // inner features of a dense FFN
  Rope rope;

  [[nodiscard]] int32_t n_embd_q() const { return n_head * head_dim; }
  [[nodiscard]] int32_t n_embd_k() const { return n_head_kv * head_dim; }
  [[nodiscard]] int32_t n_embd_v() const { return n_head_kv * head_dim_v; }
  bool operator==(const LayerHparams&) const = default;
};

// Gated delta net: linear attention with a state per head instead of keys and values.
struct DeltaNet {
  int32_t n_k_head = 0;
  int32_t n_v_head = 0;  // a multiple of n_k_head; 0: the model has none
  int32_t head_dim = 0;
  // V head h belongs to K head h / (n_v_head / n_k_head); else to h % n_k_head.
  bool interleaved = false;

  [[nodiscard]] int32_t n_embd_k() const { return n_k_head * head_dim; }
  [[nodiscard]] int32_t n_embd_v() const { return n_v_head * head_dim; }
  [[nodiscard]] int32_t n_channel() const { return 2 * n_embd_k() + n_embd_v(); }
};

// Multi-head latent attention: keys and values of all heads are made of one short row per position.
struct LatentAttention {
  int32_t n_lora_q = 0;   // 0: queries are made in one product
  int32_t n_lora_kv = 0;  // 0: the model has no latent attention
  int32_t head_dim = 0;   // of Q and K, the rotated values among it
  int32_t head_dim_v = 0;
  bool absorbed = false;  // attention over the latent rows themselves
};

// How router logits become scores. OfChosen: top-k of logits, then only the chosen have scores.
enum class Gating : uint8_t { kSoftmax, kSigmoid, kSoftmaxOfChosen, kSigmoidOfChosen };

struct Hparams {
  std::string architecture;  // GGUF general.architecture
  std::vector<LayerHparams> layers;
  std::vector<int32_t> expert_layers;  // those with experts, ascending; by job
  int32_t n_embd = 0;
  int32_t n_vocab = 0;
  int32_t context_length = 0;  // the model was trained for
  int32_t context = 0;         // that sessions may have; set when the model is opened
  float rms_eps = 1e-6F;

  int32_t n_expert = 0;
  int32_t n_expert_used = 0;
  int32_t n_ff_expert = 0;     // inner features of one expert
  int32_t n_ff_shared = 0;     // of the shared expert; 0: none
  bool fused_gate_up = false;  // gate and up of the experts are one matrix

  // Recurrent layers: positions that their short convolution sees (0: no such layers), over how
  // many channels.
  int32_t conv_kernel = 0;
  int32_t conv_channels = 0;
  DeltaNet delta_net;
  LatentAttention latent;

  Gating gating = Gating::kSoftmax;
  bool normalise_weights = true;  // of a token's experts, to sum 1
  bool weights_on_input = false;  // they multiply what an expert reads, not what it gives
  float weights_scale = 1.0F;
  bool has_choice_bias = false;  // exp_probs_b may be there, which decides who is chosen only
  int32_t n_group = 1;           // of experts; only the best groups are chosen from
  int32_t n_group_used = 1;

  // A window is not the latest positions: it begins at multiples of its length.
  bool chunked_windows = false;

  float embedding_scale = 1.0F;
  float residual_scale = 1.0F;   // of what a layer adds
  float attention_scale = 0.0F;  // 0: 1 / sqrt(head_dim)
  float logit_scale = 1.0F;      // logits are multiplied with it
  float logit_softcap = 0.0F;    // 0: none

  [[nodiscard]] int32_t n_layer() const { return static_cast<int32_t>(layers.size()); }
  [[nodiscard]] int32_t n_job() const { return static_cast<int32_t>(expert_layers.size()); }
  [[nodiscard]] const LayerHparams& layer(int32_t il) const {
    return layers[static_cast<size_t>(il)];
  }
  [[nodiscard]] bool has_recurrent_layers() const { return conv_kernel > 0; }
  // The longest window of any layer; 0: none has one.
  [[nodiscard]] int32_t window() const {
    int32_t window = 0;
    for (const LayerHparams& l : layers) {
      window = l.window > window ? l.window : window;
    }
    return window;
  }
  // The first position that layers with a window look at from `position`.
  [[nodiscard]] int32_t window_begin(int32_t position) const {
    const int32_t length = window();
    if (length == 0 || position < length) {
      return 0;
    }
    return chunked_windows ? position / length * length : position + 1 - length;
  }
};

}  // namespace runahead
