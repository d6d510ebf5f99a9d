#include "model/family.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "model/vocab.h"

namespace runahead {
namespace {

using Maker = std::unique_ptr<Family> (*)();
constexpr std::array<std::pair<const char*, Maker>, 1> kFamilies{{{"qwen3moe", make_qwen3moe}}};

std::string supported_names() {
  std::string names;
  for (const auto& [name, maker] : kFamilies) {
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return names;
}

}  // namespace

std::unique_ptr<Family> make_family(const GgufFile& file) {
  const std::string architecture = file.get_string("general.architecture").value_or("");
  const auto found = std::find_if(kFamilies.begin(), kFamilies.end(),
                                  [&](const auto& family) { return family.first == architecture; });
  if (found != kFamilies.end()) {
    return found->second();
  }
  const std::string where = file.path().string() + ": ";
  if (architecture.empty()) {
    throw Error(ErrorCode::kBadFile, where + "general.architecture is missing");
  }
  const bool dense = file.get_uint(architecture + ".expert_count", 0, UINT32_MAX).value_or(0) == 0;
  throw Error(ErrorCode::kUnsupported,
              where + "the family '" + architecture + "' is " +
                  (dense ? "not a mixture of experts (a dense model has no experts to keep on disk)"
                         : "not supported") +
                  "; supported: " + supported_names());
}

GgufExperts family_experts(const GgufFile& file, const Family& family, const Hparams& h) {
  const std::vector<ExpertRole> roles = family.expert_roles();
  const std::vector<std::array<int64_t, 2>> shapes = family.expert_shapes(h);
  GgufExperts experts = find_experts(file, h.n_layer, h.n_expert, roles);
  for (int32_t il = 0; il < h.n_layer; ++il) {
    const auto name = [&](size_t i) {
      return layer_name(static_cast<size_t>(il), roles[i].suffix + ".weight");
    };
    if (experts.layout.class_of_layer[static_cast<size_t>(il)] < 0) {
      throw Error(ErrorCode::kUnsupported, file.path().string() + ": tensor '" + name(0) +
                                               "' is missing: a layer without experts, which is "
                                               "not supported");
    }
    for (size_t i = 0; i < roles.size(); ++i) {
      (void)find_weight(file, name(i), {name(i), {shapes[i][0], shapes[i][1], h.n_expert}});
    }
  }
  return experts;
}

std::string why_unsupported(const GgufFile& file) {
  try {
    const std::unique_ptr<Family> family = make_family(file);
    const Hparams h = family->read_hparams(file);
    (void)family_experts(file, *family, h);
    check_tokens(file);
    for (const TensorSpec& spec : family->model_tensors(h)) {
      (void)find_weight(file, spec.name, spec);
    }
    for (int32_t il = 0; il < h.n_layer; ++il) {
      for (const TensorSpec& spec : family->layer_tensors(h, il)) {
        (void)find_weight(file, layer_name(static_cast<size_t>(il), spec.name), spec);
      }
    }
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace runahead
