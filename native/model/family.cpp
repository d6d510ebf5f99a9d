#include "model/family.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/error.h"
#include "model/file_kind.h"
#include "model/vocab.h"

namespace runahead {
namespace {

using Maker = std::unique_ptr<Family> (*)();
struct KnownFamily {
  const char* architecture;
  Maker make;
  bool has_dense_members = false;  // files without experts are of the same architecture
};
constexpr std::array kFamilies{
    KnownFamily{"bailingmoe2", make_bailingmoe2},
    KnownFamily{"deepseek2", make_deepseek2},
    KnownFamily{"dots1", make_dots1},
    KnownFamily{"ernie4_5-moe", make_ernie45moe},
    KnownFamily{"gemma4", make_gemma4, true},
    KnownFamily{"glm4moe", make_glm4moe},
    KnownFamily{"gpt-oss", make_gptoss},
    KnownFamily{"granitemoe", make_granitemoe},
    KnownFamily{"hunyuan-moe", make_hunyuanmoe},
    KnownFamily{"lfm2moe", make_lfm2moe},
    KnownFamily{"llama", make_llama, true},
    KnownFamily{"llama4", make_llama4, true},
    KnownFamily{"minimax-m2", make_minimaxm2},
    KnownFamily{"olmoe", make_olmoe},
    KnownFamily{"phimoe", make_phimoe},
    KnownFamily{"qwen2moe", make_qwen2moe},
    KnownFamily{"qwen35moe", make_qwen35moe},
    KnownFamily{"qwen3moe", make_qwen3moe},
    KnownFamily{"qwen3next", make_qwen3next},
    KnownFamily{"qwen3vlmoe", make_qwen3moe},
};

std::string supported_names() {
  std::string names;
  for (const KnownFamily& family : kFamilies) {
    names += (names.empty() ? "" : ", ") + std::string(family.architecture);
  }
  return names;
}

// The matrices of an expert; their order is that of ExpertOps' `matrix`.
std::vector<ExpertRole> expert_roles(const Hparams& h) {
  if (h.fused_gate_up) {
    return {{"gate_up", "ffn_gate_up_exps"}, {"down", "ffn_down_exps"}};
  }
  return {{"gate", "ffn_gate_exps"}, {"up", "ffn_up_exps"}, {"down", "ffn_down_exps"}};
}

// {n_in, n_out} of each of them.
std::vector<std::array<int64_t, 2>> expert_shapes(const Hparams& h) {
  const std::array<int64_t, 2> down{h.n_ff_expert, h.n_embd};
  if (h.fused_gate_up) {
    return {{h.n_embd, int64_t{2} * h.n_ff_expert}, down};
  }
  return {{h.n_embd, h.n_ff_expert}, {h.n_embd, h.n_ff_expert}, down};
}

// Layers as the stores count them: only those with experts.
void keep_layers(GgufExperts& experts, const std::vector<int32_t>& layers) {
  std::vector<int32_t> classes;
  std::vector<std::vector<MatrixPlace>> places;
  for (const int32_t il : layers) {
    classes.push_back(experts.layout.class_of_layer[static_cast<size_t>(il)]);
    places.push_back(std::move(experts.places[static_cast<size_t>(il)]));
  }
  experts.layout.n_layer = static_cast<int32_t>(layers.size());
  experts.layout.class_of_layer = std::move(classes);
  experts.places = std::move(places);
}

// Why a tensor that no family reads is in a file.
std::string why_unknown(const std::string& tensor, const std::string& architecture) {
  if (tensor.ends_with(".scale") || tensor.ends_with(".input_scale")) {
    return "scales a whole matrix, as NVFP4 files do, which are not supported; take a file of "
           "another type, such as Q4_K_M or MXFP4";
  }
  return "is not known to the family '" + architecture + "': a variant that is not supported";
}

}  // namespace

std::unique_ptr<Family> make_family(const GgufFile& file) {
  const std::string architecture = file.get_string("general.architecture").value_or("");
  check_is_language_model(file, architecture);
  const std::string where = file.path().string() + ": ";
  if (architecture.empty()) {
    throw Error(ErrorCode::kBadFile, where + "general.architecture is missing");
  }
  const auto found =
      std::find_if(kFamilies.begin(), kFamilies.end(),
                   [&](const KnownFamily& family) { return family.architecture == architecture; });
  const bool dense = file.get_uint(architecture + ".expert_count", 0, UINT32_MAX).value_or(0) == 0;
  if (found != kFamilies.end() && !(dense && found->has_dense_members)) {
    return found->make();
  }
  throw Error(ErrorCode::kUnsupported,
              where + "the family '" + architecture + "' is " +
                  (dense ? "not a mixture of experts (a dense model has no experts to keep on disk)"
                         : "not supported") +
                  "; supported: " + supported_names());
}

GgufExperts family_experts(const GgufFile& file, const Hparams& h) {
  const std::vector<ExpertRole> roles = expert_roles(h);
  const std::vector<std::array<int64_t, 2>> shapes = expert_shapes(h);
  GgufExperts experts = find_experts(file, h.n_layer(), h.n_expert, roles);
  for (const int32_t il : h.expert_layers) {
    const auto name = [&](size_t i) {
      return layer_name(static_cast<size_t>(il), roles[i].suffix + ".weight");
    };
    if (file.find(layer_name(static_cast<size_t>(il), "ffn_gate.0.weight")) != nullptr) {
      throw Error(ErrorCode::kUnsupported,
                  file.path().string() +
                      ": this is a file of the old layout with one tensor for each expert; convert "
                      "the model anew, or take a newer file of it");
    }
    if (experts.layout.class_of_layer[static_cast<size_t>(il)] < 0) {
      throw Error(ErrorCode::kUnsupported,
                  file.path().string() + ": tensor '" + name(0) +
                      "' is missing: a layer without experts, where this family has them");
    }
    for (size_t i = 0; i < roles.size(); ++i) {
      (void)find_weight(file, name(i), {name(i), {shapes[i][0], shapes[i][1], h.n_expert}});
    }
  }
  keep_layers(experts, h.expert_layers);
  return experts;
}

void check_tensors(const GgufFile& file, const Family& family, const Hparams& h) {
  const uint64_t n_token = file.array_length("tokenizer.ggml.tokens").value_or(0);
  if (n_token > static_cast<uint64_t>(h.n_vocab)) {
    throw Error(ErrorCode::kBadFile, file.path().string() + ": " + std::to_string(n_token) +
                                         " tokens in the vocabulary, but " +
                                         std::to_string(h.n_vocab) + " rows in token_embd.weight");
  }
  std::set<std::string> known;
  const auto check = [&](const std::string& name, const TensorSpec& spec) {
    (void)find_weight(file, name, spec);
    known.insert(name);
  };
  for (const TensorSpec& spec : family.model_tensors(h)) {
    check(spec.name, spec);
  }
  for (int32_t il = 0; il < h.n_layer(); ++il) {
    const auto layer = static_cast<size_t>(il);
    for (const TensorSpec& spec : family.layer_tensors(h, il)) {
      check(layer_name(layer, spec.name), spec);
    }
    if (h.layer(il).has_experts) {
      for (const ExpertRole& role : expert_roles(h)) {
        known.insert(layer_name(layer, role.suffix + ".weight"));
      }
    }
  }
  for (const TensorInfo& tensor : file.tensors()) {
    // Layers behind the last draft further tokens; they are not run.
    const bool of_layer = tensor.name.starts_with("blk.");
    const bool draft = of_layer && std::atoi(tensor.name.c_str() + 4) >= h.n_layer();
    if (!draft && !known.contains(tensor.name)) {
      throw Error(ErrorCode::kUnsupported, file.path().string() + ": tensor '" + tensor.name +
                                               "' " + why_unknown(tensor.name, h.architecture));
    }
  }
}

std::string why_unsupported(const GgufFile& file) {
  try {
    const std::unique_ptr<Family> family = make_family(file);
    const Hparams h = family->read_hparams(file);
    (void)family_experts(file, h);
    check_tokens(file);
    check_tensors(file, *family, h);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace runahead
