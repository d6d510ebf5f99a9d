#include "gguf/split_name.h"

#include <cstdio>
#include <string_view>

namespace runahead {
namespace {

constexpr size_t kDigits = 5;
constexpr std::string_view kOf = "-of-";
constexpr std::string_view kSuffix = ".gguf";
constexpr size_t kTailBytes = 1 + kDigits + kOf.size() + kDigits + kSuffix.size();

// nullopt: not five digits.
std::optional<uint32_t> number_of(std::string_view digits) {
  uint32_t number = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') {
      return std::nullopt;
    }
    number = number * 10 + static_cast<uint32_t>(c - '0');
  }
  return number;
}

}  // namespace

std::optional<SplitName> SplitName::parse(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  if (name.size() < kTailBytes) {
    return std::nullopt;
  }
  const std::string_view tail = std::string_view(name).substr(name.size() - kTailBytes);
  const std::optional<uint32_t> no = number_of(tail.substr(1, kDigits));
  const std::optional<uint32_t> count = number_of(tail.substr(1 + kDigits + kOf.size(), kDigits));
  if (tail[0] != '-' || tail.substr(1 + kDigits, kOf.size()) != kOf || !tail.ends_with(kSuffix) ||
      !no || !count || *no == 0 || *no > *count) {
    return std::nullopt;
  }
  return SplitName{name.substr(0, name.size() - kTailBytes), *no - 1, *count};
}

std::string SplitName::of_shard(uint32_t no) const {
  char tail[40];
  std::snprintf(tail, sizeof(tail), "-%05u-of-%05u%s", no + 1, count, kSuffix.data());
  return prefix + tail;
}

}  // namespace runahead
