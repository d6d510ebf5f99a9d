#include "model/family.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"

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

std::string why_unsupported(const GgufFile& file) {
  try {
    const std::unique_ptr<Family> family = make_family(file);
    const Hparams h = family->read_hparams(file);
    (void)find_experts(file, h.n_layer, h.n_expert, family->expert_roles());
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace runahead
