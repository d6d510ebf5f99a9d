// gguf/split_name.h: file names of a split model, "<prefix>-00001-of-00003.gguf", and their parts.

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace runahead {

struct SplitName {
  std::string prefix;
  uint32_t no = 0;  // counts from 0; in the name from 1
  uint32_t count = 0;

  // nullopt: not such a name.
  [[nodiscard]] static std::optional<SplitName> parse(const std::filesystem::path& path);
  // The name of shard `no`, without folder.
  [[nodiscard]] std::string of_shard(uint32_t no) const;
};

}  // namespace runahead
