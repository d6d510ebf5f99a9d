// gguf/metadata.h
//
// Metadata is what the keys of one GGUF file say. Numbers are held; texts and arrays stay in the
// file, as a checked range, and are read when asked for, so that a huge array costs nothing until
// then.
//
// Constant once filled; may then be shared between threads.

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace runahead {

// Numbers as in the file.
enum class ValueType : uint32_t {
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kString,
  kArray,
  kU64,
  kI64,
  kF64,
};
constexpr uint32_t kValueTypes = 13;
[[nodiscard]] const char* name_of(ValueType type);
// Bytes of one number; 0 for strings and arrays.
[[nodiscard]] uint64_t bytes_of(ValueType type);

struct MetadataEntry {
  std::string key;
  ValueType type = ValueType::kU8;  // of an array: of its elements
  bool is_array = false;
  uint64_t count = 1;   // elements of an array
  uint64_t offset = 0;  // in the file: a text's first byte, an array's first element
  uint64_t bytes = 0;   // from there on
  uint64_t number = 0;  // the bytes of a number, zero-extended
};

class Metadata {
 public:
  Metadata() = default;
  // Throws Error(kBadFile) when a key occurs twice.
  Metadata(std::filesystem::path path, std::vector<MetadataEntry> entries);

  // Elements of an array that is handed out as a whole.
  static constexpr uint64_t kMaxElements = uint64_t{1} << 24;

  // See GgufFile.
  [[nodiscard]] const MetadataEntry* find(std::string_view key) const;
  [[nodiscard]] std::optional<uint64_t> get_uint(std::string_view key, uint64_t min,
                                                 uint64_t max) const;
  [[nodiscard]] uint64_t require_uint(std::string_view key, uint64_t min, uint64_t max) const;
  [[nodiscard]] std::optional<double> get_float(std::string_view key) const;
  [[nodiscard]] std::optional<bool> get_bool(std::string_view key) const;
  [[nodiscard]] std::optional<std::string> get_string(std::string_view key) const;
  [[nodiscard]] std::optional<std::vector<std::string>> get_strings(std::string_view key) const;
  [[nodiscard]] std::optional<std::vector<int64_t>> get_ints(std::string_view key) const;
  [[nodiscard]] std::optional<uint64_t> array_length(std::string_view key) const;
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> describe() const;

 private:
  [[nodiscard]] std::string read_bytes(const MetadataEntry& entry, uint64_t max_bytes) const;
  [[nodiscard]] std::vector<std::string> strings_of(const MetadataEntry& entry) const;
  [[nodiscard]] std::string describe(const MetadataEntry& entry) const;
  // Throws Error(kBadFile): "<file>: key '<key>' <what>".
  [[noreturn]] void fail(std::string_view key, const std::string& what) const;
  [[noreturn]] void fail_type(const MetadataEntry& entry, const char* wanted) const;
  void check_count(const MetadataEntry& entry) const;

  std::filesystem::path path_;
  std::vector<MetadataEntry> entries_;  // in file order
  std::vector<uint32_t> by_key_;        // indices of entries_, sorted by key
};

}  // namespace runahead
