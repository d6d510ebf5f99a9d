// gguf/gguf_file.h
//
// GgufFile reads the metadata and tensor table of a GGUF (versions 2 and 3, little-endian), or of
// all shards of a split one, from hostile input: every count, length, type, dimension and offset is
// checked before it is used, sums and products are checked for overflow, memory taken stays below a
// few times the bytes actually in the file. Nothing is mapped and no file stays open; tensor bytes
// are read by whoever needs them.
//
// All failures are Error(kBadFile or kIo or kUnsupported) whose text names the file, the field and
// the value. After opening it is constant and may be shared between threads.

#pragma once

#include <ggml.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gguf/metadata.h"

namespace runahead {

struct TensorInfo {
  std::string name;
  ggml_type type = GGML_TYPE_F32;
  std::array<int64_t, 4> ne{1, 1, 1, 1};
  uint64_t bytes = 0;   // of the whole tensor; overflow-checked, rows are whole blocks
  int32_t file = 0;     // index into files()
  uint64_t offset = 0;  // absolute in that file; offset + bytes <= file size
};

struct GgufSource {
  std::filesystem::path path;
  uint64_t bytes = 0;
};

class GgufFile {
 public:
  // `path` is a whole model or any shard of a split one ("...-00001-of-00003.gguf"); missing shards
  // are named.
  static GgufFile open(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const;  // of the first shard
  [[nodiscard]] const std::vector<GgufSource>& files() const;
  [[nodiscard]] const std::vector<TensorInfo>& tensors() const;
  [[nodiscard]] const TensorInfo* find(std::string_view tensor) const;  // nullptr: absent
  // Throws Error(kBadFile): "<file>: tensor '<name>' is missing".
  [[nodiscard]] const TensorInfo& require(std::string_view tensor) const;

  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] bool is_array(std::string_view key) const;  // false when absent
  // Metadata values (of the first shard). get_*: nullopt when absent; a wrong type or an
  // out-of-range value throws, naming key and value. Integers of any GGUF integer type are accepted
  // when they fit the given range.
  [[nodiscard]] std::optional<uint64_t> get_uint(std::string_view key, uint64_t min,
                                                 uint64_t max) const;
  [[nodiscard]] uint64_t require_uint(std::string_view key, uint64_t min, uint64_t max) const;
  [[nodiscard]] std::optional<double> get_float(std::string_view key) const;  // finite; F32 or F64
  [[nodiscard]] std::optional<bool> get_bool(std::string_view key) const;
  // Texts are the file's bytes, which need not be UTF-8. They and arrays are read from the file on
  // each call.
  [[nodiscard]] std::optional<std::string> get_string(std::string_view key) const;
  [[nodiscard]] std::optional<std::vector<std::string>> get_strings(std::string_view key) const;
  // Of any integer type, or of bools as 0 and 1.
  [[nodiscard]] std::optional<std::vector<int64_t>> get_ints(std::string_view key) const;
  // Number of elements of an array key; nullopt when absent.
  [[nodiscard]] std::optional<uint64_t> array_length(std::string_view key) const;
  // Key and a short text of its value ("[151936 strings]" for long arrays), in file order, for
  // `inspect`. The values are valid UTF-8.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> describe_metadata() const;

  // A hash of the sizes, metadata and tensor tables of all shards, and of samples of the weights,
  // so that two trainings of one model differ: names the file a pack was made from. The same for
  // copies of a file.
  [[nodiscard]] uint64_t fingerprint() const;

  // Reads bytes [offset, offset + size) of `tensor` through the page cache. Throws Error(kIo)
  // naming the file. REQUIRES: `tensor` is of this file and the range is in it.
  void read(const TensorInfo& tensor, uint64_t offset, void* destination, uint64_t size) const;

 private:
  GgufFile() = default;
  void index_tensors();
  [[nodiscard]] uint64_t hash_samples(uint64_t hash) const;

  std::vector<GgufSource> files_;
  Metadata metadata_;  // of the first shard
  std::vector<TensorInfo> tensors_;
  std::vector<uint32_t> by_name_;  // indices of tensors_, sorted by name
  uint64_t fingerprint_ = 0;
};

}  // namespace runahead
