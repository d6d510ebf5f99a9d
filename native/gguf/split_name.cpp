#include "gguf/split_name.h"

#include <cstdio>
#include <regex>

namespace runahead {

std::optional<SplitName> SplitName::parse(const std::filesystem::path& path) {
  static const std::regex kPattern(R"(-(\d{5})-of-(\d{5})\.gguf$)");
  const std::string name = path.filename().string();
  std::smatch parts;
  if (!std::regex_search(name, parts, kPattern)) {
    return std::nullopt;
  }
  const auto no = static_cast<uint32_t>(std::stoul(parts[1]));
  const auto count = static_cast<uint32_t>(std::stoul(parts[2]));
  if (no == 0 || no > count) {
    return std::nullopt;
  }
  return SplitName{parts.prefix().str(), no - 1, count};
}

std::string SplitName::of_shard(uint32_t no) const {
  char tail[40];
  std::snprintf(tail, sizeof(tail), "-%05u-of-%05u.gguf", no + 1, count);
  return prefix + tail;
}

}  // namespace runahead
