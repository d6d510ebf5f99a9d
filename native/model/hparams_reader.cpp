#include "model/hparams_reader.h"

#include <algorithm>
#include <cmath>

#include "model/weights.h"

namespace runahead {
namespace {

constexpr int32_t kMaxLayers = 1024;
constexpr int32_t kMaxHeads = 1024;
constexpr int32_t kMaxHeadDim = 1024;
constexpr int64_t kMaxFeatures = 1 << 24;

}  // namespace

HparamsReader::HparamsReader(const GgufFile& file)
    : file_(file), prefix_(file.get_string("general.architecture").value_or("") + ".") {}

void HparamsReader::fail(ErrorCode code, const std::string& key, const std::string& what) const {
  throw Error(code, file_.path().string() + ": " + prefix_ + key + " " + what);
}

bool HparamsReader::has(const std::string& key) const {
  return file_.has(prefix_ + key);
}

int32_t HparamsReader::size(const std::string& key, uint64_t max) const {
  return static_cast<int32_t>(file_.require_uint(prefix_ + key, 1, max));
}

int32_t HparamsReader::positive_or(const std::string& key, int32_t missing, uint64_t max) const {
  return static_cast<int32_t>(
      file_.get_uint(prefix_ + key, 1, max).value_or(static_cast<uint64_t>(missing)));
}

int32_t HparamsReader::size_or(const std::string& key, int32_t missing, uint64_t max) const {
  return static_cast<int32_t>(
      file_.get_uint(prefix_ + key, 0, max).value_or(static_cast<uint64_t>(missing)));
}

std::vector<int32_t> HparamsReader::per_layer(const std::string& key, int32_t n_layer,
                                              int32_t missing, int64_t min, int64_t max) const {
  if (!file_.is_array(prefix_ + key)) {
    const auto value =
        file_.get_uint(prefix_ + key, static_cast<uint64_t>(min), static_cast<uint64_t>(max));
    return std::vector<int32_t>(static_cast<size_t>(n_layer),
                                value ? static_cast<int32_t>(*value) : missing);
  }
  const std::vector<int64_t> values = *file_.get_ints(prefix_ + key);
  if (values.size() < static_cast<size_t>(n_layer)) {
    fail(ErrorCode::kBadFile, key,
         "has " + std::to_string(values.size()) + " entries for " + std::to_string(n_layer) +
             " layers");
  }
  std::vector<int32_t> result;
  for (int32_t il = 0; il < n_layer; ++il) {
    const int64_t value = values[static_cast<size_t>(il)];
    if (value < 0 || value > max) {
      fail(ErrorCode::kBadFile, key,
           "is " + std::to_string(value) + " for layer " + std::to_string(il) + "; 0 to " +
               std::to_string(max) + " are possible");
    }
    result.push_back(static_cast<int32_t>(value));
  }
  return result;
}

float HparamsReader::number(const std::string& key, double missing, double min, double max) const {
  const double value = file_.get_float(prefix_ + key).value_or(missing);
  if (!(value >= min && value <= max)) {
    fail(ErrorCode::kBadFile, key,
         "is " + std::to_string(value) + "; " + std::to_string(min) + " to " + std::to_string(max) +
             " are possible");
  }
  return static_cast<float>(value);
}

bool HparamsReader::flag(const std::string& key, bool missing) const {
  return file_.get_bool(prefix_ + key).value_or(missing);
}

std::vector<int32_t> HparamsReader::window_layers(int32_t n_layer, int32_t period) const {
  const std::string key = "attention.sliding_window_pattern";
  if (file_.is_array(prefix_ + key)) {
    return per_layer(key, n_layer, 0, 0, 1);
  }
  period = size_or(key, period, kMaxLayers);
  std::vector<int32_t> windows;
  for (int32_t il = 0; il < n_layer; ++il) {
    windows.push_back(period == 0 || il % period < period - 1 ? 1 : 0);
  }
  return windows;
}

void HparamsReader::read_dense_layers(Hparams& h) const {
  const int32_t n_dense =
      size_or("leading_dense_block_count", 0, static_cast<uint64_t>(h.n_layer()));
  for (int32_t il = 0; il < n_dense; ++il) {
    h.layers[static_cast<size_t>(il)].has_experts = false;
  }
}

void HparamsReader::read_routing(Hparams& h, Gating missing) const {
  const int32_t gating = size_or("expert_gating_func", 0, INT32_MAX);
  switch (gating) {
    case 0: h.gating = missing; break;
    case 1: h.gating = Gating::kSoftmax; break;
    case 2: h.gating = Gating::kSigmoid; break;
    case 3: h.gating = Gating::kSoftmaxOfChosen; break;
    default:
      fail(ErrorCode::kUnsupported, "expert_gating_func",
           "is " + std::to_string(gating) + ", a way to choose experts that is not supported");
  }
  h.has_choice_bias = true;
  h.normalise_weights = flag("expert_weights_norm", false);
  const float scale = number("expert_weights_scale", 0.0, 0.0, 1e6);
  h.weights_scale = scale == 0.0F ? 1.0F : scale;
  h.n_ff_shared = size_or("expert_shared_count", 0, 64) * h.n_ff_expert;
}

Rope HparamsReader::rope(int32_t head_dim, int32_t context_length) const {
  Rope rope;
  rope.n_rot = size_or("rope.dimension_count", head_dim, kMaxHeadDim);
  rope.base = number("rope.freq_base", 10000.0, 1.0, 1e12);
  rope.n_ctx_orig =
      size_or("rope.scaling.original_context_length", context_length, uint64_t{INT32_MAX});
  const std::string type = file_.get_string(prefix_ + "rope.scaling.type").value_or("linear");
  if (type != "none" && type != "linear" && type != "yarn") {
    fail(ErrorCode::kUnsupported, "rope.scaling.type", "'" + type + "' is not supported");
  }
  if (type != "none") {
    const char* key = has("rope.scaling.factor") ? "rope.scaling.factor" : "rope.scale_linear";
    const float factor = number(key, 1.0, 0.0, 1e6);
    rope.freq_scale = factor == 0.0F ? 1.0F : 1.0F / factor;
  }
  // YaRN's factor of the attention scores is computed by ggml itself.
  rope.ext_factor = type == "yarn" ? 1.0F : 0.0F;
  rope.attn_factor = number("rope.scaling.attn_factor", 1.0, 0.0, 1e6);
  return rope;
}

Hparams HparamsReader::common() const {
  Hparams h;
  // Sections of a head turn by time, height and width, which are one position for text: then they
  // are as if there were none.
  if (per_layer("rope.dimension_sections", 4, 0, 0, kMaxHeadDim)[3] != 0) {
    fail(ErrorCode::kUnsupported, "rope.dimension_sections",
         "has a fourth section, which is not supported");
  }
  h.architecture = prefix_.substr(0, prefix_.size() - 1);
  const int32_t n_all = size("block_count", kMaxLayers);
  // Layers that draft further tokens stand last and are not run.
  const int32_t n_layer = n_all - size_or("nextn_predict_layers", 0, static_cast<uint64_t>(n_all));
  if (n_layer < 1) {
    fail(ErrorCode::kUnsupported, "block_count",
         "counts draft layers only: this is a part of a model that cannot run alone");
  }
  h.n_embd = size("embedding_length", 1 << 20);
  h.context_length = positive_or("context_length", 4096, INT32_MAX);
  h.rms_eps = number("attention.layer_norm_rms_epsilon", 1e-6, 0.0, 1.0);
  h.n_vocab =
      static_cast<int32_t>(std::min<int64_t>(file_.require("token_embd.weight").ne[1], INT32_MAX));
  h.n_expert = size("expert_count", 4096);
  h.n_expert_used = size("expert_used_count", static_cast<uint64_t>(h.n_expert));
  const std::vector<int32_t> n_ff_expert =
      per_layer("expert_feed_forward_length", n_all, 0, 1, kMaxFeatures);
  h.n_ff_expert = *std::max_element(n_ff_expert.begin(), n_ff_expert.end());
  h.n_ff_shared = size_or("expert_shared_feed_forward_length", 0, kMaxFeatures);

  if (!has("attention.head_count")) {
    (void)size("attention.head_count", kMaxHeads);  // says that it is missing
  }
  const std::vector<int32_t> n_head = per_layer("attention.head_count", n_all, 0, 1, kMaxHeads);
  const std::vector<int32_t> n_ff = per_layer("feed_forward_length", n_all, 0, 0, kMaxFeatures);
  const std::vector<int32_t> n_head_kv =
      has("attention.head_count_kv") ? per_layer("attention.head_count_kv", n_all, 0, 1, kMaxHeads)
                                     : n_head;
  const int32_t most = *std::max_element(n_head.begin(), n_head.end());
  const int32_t head_dim = most == 0 ? 0 : h.n_embd / most;
  LayerHparams layer;
  layer.head_dim = positive_or("attention.key_length", head_dim, kMaxHeadDim);
  layer.head_dim_v = positive_or("attention.value_length", head_dim, kMaxHeadDim);
  layer.rope = rope(layer.head_dim, h.context_length);
  for (size_t il = 0; il < static_cast<size_t>(n_layer); ++il) {
    layer.n_head = n_head[il];
    layer.n_head_kv = n_head_kv[il];
    layer.n_ff = n_ff[il];
    layer.fused_qkv = file_.find(layer_name(il, "attn_qkv.weight")) != nullptr;
    h.layers.push_back(layer);
  }
  h.n_group = std::max(1, size_or("expert_group_count", 1, UINT16_MAX));
  h.n_group_used = h.n_group == 1 ? 1 : positive_or("expert_group_used_count", 1, UINT16_MAX);
  for (size_t il = 0; il < static_cast<size_t>(n_layer); ++il) {
    h.fused_gate_up =
        h.fused_gate_up || file_.find(layer_name(il, "ffn_gate_up_exps.weight")) != nullptr;
  }
  return h;
}

Hparams HparamsReader::finish(Hparams h) const {
  h.expert_layers.clear();
  for (int32_t il = 0; il < h.n_layer(); ++il) {
    if (h.layer(il).has_experts) {
      h.expert_layers.push_back(il);
    }
  }
  // A state that no layer keeps takes no memory.
  const bool recurrent = std::any_of(h.layers.begin(), h.layers.end(),
                                     [](const LayerHparams& l) { return l.recurrent; });
  h.conv_kernel = recurrent ? h.conv_kernel : 0;
  if (h.expert_layers.empty()) {
    fail(ErrorCode::kBadFile, "block_count", "leaves no layer with experts");
  }
  if (h.n_ff_expert < 1) {
    fail(ErrorCode::kBadFile, "expert_feed_forward_length", "is missing");
  }
  const int32_t group = h.n_expert / h.n_group;
  if (h.n_expert % h.n_group != 0 || h.n_group_used > h.n_group ||
      (h.n_group > 1 && (group < 2 || h.n_group_used * group < h.n_expert_used))) {
    fail(ErrorCode::kBadFile, "expert_group_count",
         std::to_string(h.n_group) + " does not divide the experts into groups of which " +
             std::to_string(h.n_group_used) + " have enough");
  }
  for (const LayerHparams& l : h.layers) {
    if (l.recurrent) {
      continue;
    }
    if (l.n_head < 1 || l.n_head_kv < 1) {
      fail(ErrorCode::kBadFile, "attention.head_count", "is 0 for a layer with attention");
    }
    if (l.head_dim < 2) {
      fail(ErrorCode::kBadFile, "embedding_length",
           std::to_string(h.n_embd) + " is too small for attention.head_count " +
               std::to_string(l.n_head));
    }
    if (l.n_head % l.n_head_kv != 0) {
      fail(ErrorCode::kBadFile, "attention.head_count",
           std::to_string(l.n_head) + " is not a multiple of head_count_kv " +
               std::to_string(l.n_head_kv));
    }
    if (l.head_dim % 2 != 0) {
      fail(ErrorCode::kBadFile, "attention.key_length", std::to_string(l.head_dim) + " is odd");
    }
    if (l.head_dim_v != l.head_dim && l.head_dim_v != 0) {
      fail(ErrorCode::kUnsupported, "attention.value_length", "differs from key_length");
    }
    if (l.rope.n_rot % 2 != 0 || l.rope.n_rot > l.head_dim) {
      fail(ErrorCode::kBadFile, "rope.dimension_count",
           std::to_string(l.rope.n_rot) + " is odd, or more than the " +
               std::to_string(l.head_dim) + " values of a head");
    }
  }
  return h;
}

}  // namespace runahead
