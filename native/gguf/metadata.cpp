#include "gguf/metadata.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "gguf/input_file.h"
#include "gguf/text.h"

namespace runahead {
namespace {

struct TypeFacts {
  const char* name;
  uint64_t bytes;
};
constexpr std::array<TypeFacts, kValueTypes> kTypes{{
    {"u8", 1},
    {"i8", 1},
    {"u16", 2},
    {"i16", 2},
    {"u32", 4},
    {"i32", 4},
    {"f32", 4},
    {"bool", 1},
    {"string", 0},
    {"array", 0},
    {"u64", 8},
    {"i64", 8},
    {"f64", 8},
}};

// Longer arrays are described by their length only, longer texts are cut.
constexpr uint64_t kDescribedElements = 8;
constexpr uint64_t kDescribedBytes = 200;

struct Integer {
  bool negative = false;
  uint64_t bits = 0;  // of the int64_t when negative, else the value
};

// nullopt: not an integer type.
std::optional<Integer> integer_of(ValueType type, uint64_t number) {
  const auto from_signed = [](int64_t v) { return Integer{v < 0, static_cast<uint64_t>(v)}; };
  switch (type) {
    case ValueType::kU8:
    case ValueType::kU16:
    case ValueType::kU32:
    case ValueType::kU64: return Integer{false, number};
    case ValueType::kI8: return from_signed(static_cast<int8_t>(number));
    case ValueType::kI16: return from_signed(static_cast<int16_t>(number));
    case ValueType::kI32: return from_signed(static_cast<int32_t>(number));
    case ValueType::kI64: return from_signed(static_cast<int64_t>(number));
    default: return std::nullopt;
  }
}

std::string text_of(Integer value) {
  return value.negative ? std::to_string(static_cast<int64_t>(value.bits))
                        : std::to_string(value.bits);
}

double float_of(ValueType type, uint64_t number) {
  return type == ValueType::kF32 ? std::bit_cast<float>(static_cast<uint32_t>(number))
                                 : std::bit_cast<double>(number);
}

// The shortest text that reads as the same number.
std::string text_of_float(ValueType type, uint64_t number) {
  const double value = float_of(type, number);
  char text[32];
  for (int digits = 6; digits <= 17; ++digits) {
    std::snprintf(text, sizeof(text), "%.*g", digits, value);
    const double read =
        type == ValueType::kF32 ? std::strtof(text, nullptr) : std::strtod(text, nullptr);
    if (read == value) {
      break;
    }
  }
  return text;
}

std::string text_of_number(ValueType type, uint64_t number) {
  if (type == ValueType::kBool) {
    return number != 0 ? "true" : "false";
  }
  const std::optional<Integer> integer = integer_of(type, number);
  return integer ? text_of(*integer) : text_of_float(type, number);
}

// The i-th number of an array's bytes, zero-extended.
uint64_t number_at(const std::string& bytes, uint64_t width, uint64_t i) {
  uint64_t number = 0;
  std::memcpy(&number, bytes.data() + i * width, width);
  return number;
}

}  // namespace

const char* name_of(ValueType type) {
  return kTypes[static_cast<size_t>(type)].name;
}
uint64_t bytes_of(ValueType type) {
  return kTypes[static_cast<size_t>(type)].bytes;
}

Metadata::Metadata(std::filesystem::path path, std::vector<MetadataEntry> entries)
    : path_(std::move(path)), entries_(std::move(entries)), by_key_(entries_.size()) {
  std::iota(by_key_.begin(), by_key_.end(), 0u);
  std::sort(by_key_.begin(), by_key_.end(),
            [&](uint32_t a, uint32_t b) { return entries_[a].key < entries_[b].key; });
  for (size_t i = 1; i < by_key_.size(); ++i) {
    if (entries_[by_key_[i]].key == entries_[by_key_[i - 1]].key) {
      fail(entries_[by_key_[i]].key, "occurs twice");
    }
  }
}

const MetadataEntry* Metadata::find(std::string_view key) const {
  const auto it = std::lower_bound(
      by_key_.begin(), by_key_.end(), key,
      [&](uint32_t i, std::string_view wanted) { return entries_[i].key < wanted; });
  return it != by_key_.end() && entries_[*it].key == key ? &entries_[*it] : nullptr;
}

std::optional<uint64_t> Metadata::get_uint(std::string_view key, uint64_t min, uint64_t max) const {
  const MetadataEntry* entry = find(key);
  if (entry == nullptr) {
    return std::nullopt;
  }
  const std::optional<Integer> value =
      entry->is_array ? std::nullopt : integer_of(entry->type, entry->number);
  if (!value) {
    fail_type(*entry, "a whole number");
  }
  if (value->negative || value->bits < min || value->bits > max) {
    fail(key, "is " + text_of(*value) + "; " + std::to_string(min) + " to " + std::to_string(max) +
                  " are possible");
  }
  return value->bits;
}

uint64_t Metadata::require_uint(std::string_view key, uint64_t min, uint64_t max) const {
  const std::optional<uint64_t> value = get_uint(key, min, max);
  if (!value) {
    fail(key, "is missing");
  }
  return *value;
}

std::optional<double> Metadata::get_float(std::string_view key) const {
  const MetadataEntry* entry = find(key);
  if (entry == nullptr) {
    return std::nullopt;
  }
  if (entry->is_array || (entry->type != ValueType::kF32 && entry->type != ValueType::kF64)) {
    fail_type(*entry, "a floating-point number");
  }
  const double value = float_of(entry->type, entry->number);
  if (!std::isfinite(value)) {
    fail(key, "is " + text_of_float(entry->type, entry->number) + "; it must be finite");
  }
  return value;
}

std::optional<bool> Metadata::get_bool(std::string_view key) const {
  const MetadataEntry* entry = find(key);
  if (entry == nullptr) {
    return std::nullopt;
  }
  if (entry->is_array || entry->type != ValueType::kBool) {
    fail_type(*entry, "a bool");
  }
  return entry->number != 0;
}

std::optional<std::string> Metadata::get_string(std::string_view key) const {
  const MetadataEntry* entry = find(key);
  if (entry == nullptr) {
    return std::nullopt;
  }
  if (entry->is_array || entry->type != ValueType::kString) {
    fail_type(*entry, "a string");
  }
  return read_bytes(*entry, entry->bytes);
}

std::optional<std::vector<std::string>> Metadata::get_strings(std::string_view key) const {
  const MetadataEntry* entry = find(key);
  if (entry == nullptr) {
    return std::nullopt;
  }
  if (!entry->is_array || entry->type != ValueType::kString) {
    fail_type(*entry, "an array of strings");
  }
  check_count(*entry);
  return strings_of(*entry);
}

std::optional<std::vector<int64_t>> Metadata::get_ints(std::string_view key) const {
  const MetadataEntry* entry = find(key);
  if (entry == nullptr) {
    return std::nullopt;
  }
  const bool is_bool = entry->type == ValueType::kBool;
  if (!entry->is_array || (!is_bool && !integer_of(entry->type, 0))) {
    fail_type(*entry, "an array of whole numbers or bools");
  }
  check_count(*entry);
  const std::string bytes = read_bytes(*entry, entry->bytes);
  const uint64_t width = bytes_of(entry->type);
  std::vector<int64_t> values(entry->count);
  for (uint64_t i = 0; i < entry->count; ++i) {
    const uint64_t number = number_at(bytes, width, i);
    const Integer value = is_bool ? Integer{false, number} : *integer_of(entry->type, number);
    if (!value.negative && value.bits > (is_bool ? 1 : uint64_t{INT64_MAX})) {
      fail(key, "has the value " + text_of(value) + " as element " + std::to_string(i) +
                    "; at most " + std::to_string(is_bool ? 1 : INT64_MAX) + " is possible");
    }
    values[i] = static_cast<int64_t>(value.bits);
  }
  return values;
}

std::optional<uint64_t> Metadata::array_length(std::string_view key) const {
  const MetadataEntry* entry = find(key);
  if (entry == nullptr) {
    return std::nullopt;
  }
  if (!entry->is_array) {
    fail_type(*entry, "an array");
  }
  return entry->count;
}

std::vector<std::pair<std::string, std::string>> Metadata::describe() const {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const MetadataEntry& entry : entries_) {
    lines.emplace_back(entry.key, describe(entry));
  }
  return lines;
}

std::string Metadata::describe(const MetadataEntry& entry) const {
  if (!entry.is_array) {
    return entry.type == ValueType::kString
               ? printable(read_bytes(entry, kDescribedBytes * 2), kDescribedBytes)
               : text_of_number(entry.type, entry.number);
  }
  if (entry.count > kDescribedElements || entry.bytes > kDescribedBytes * 2) {
    return "[" + std::to_string(entry.count) + " " + name_of(entry.type) +
           (entry.count == 1 ? "]" : "s]");
  }
  std::string text;
  if (entry.type == ValueType::kString) {
    for (const std::string& element : strings_of(entry)) {
      text += (text.empty() ? "\"" : ", \"") + printable(element) + "\"";
    }
  } else {
    const std::string bytes = read_bytes(entry, entry.bytes);
    for (uint64_t i = 0; i < entry.count; ++i) {
      text += (text.empty() ? "" : ", ") +
              text_of_number(entry.type, number_at(bytes, bytes_of(entry.type), i));
    }
  }
  return "[" + text + "]";
}

std::string Metadata::read_bytes(const MetadataEntry& entry, uint64_t max_bytes) const {
  const InputFile file(path_);
  std::string bytes(std::min(entry.bytes, max_bytes), '\0');
  file.read(entry.offset, bytes.data(), bytes.size());
  return bytes;
}

// The lengths were checked when the file was opened; they are checked again, since the file may
// have been written to since.
std::vector<std::string> Metadata::strings_of(const MetadataEntry& entry) const {
  const std::string bytes = read_bytes(entry, entry.bytes);
  std::vector<std::string> values;
  values.reserve(entry.count);
  uint64_t at = 0;
  for (uint64_t i = 0; i < entry.count; ++i) {
    uint64_t size = 0;
    if (bytes.size() - at < sizeof(size)) {
      fail(entry.key, "has changed since the file was opened");
    }
    std::memcpy(&size, bytes.data() + at, sizeof(size));
    at += sizeof(size);
    if (size > bytes.size() - at) {
      fail(entry.key, "has changed since the file was opened");
    }
    values.push_back(bytes.substr(at, size));
    at += size;
  }
  return values;
}

void Metadata::fail(std::string_view key, const std::string& what) const {
  throw Error(ErrorCode::kBadFile,
              printable(path_.native(), 4096) + ": key '" + printable(key) + "' " + what);
}

void Metadata::fail_type(const MetadataEntry& entry, const char* wanted) const {
  fail(entry.key, "is " +
                      (entry.is_array ? std::string("an array of ") + name_of(entry.type)
                                      : std::string(name_of(entry.type))) +
                      " (" + describe(entry) + "), not " + wanted);
}

void Metadata::check_count(const MetadataEntry& entry) const {
  if (entry.count > kMaxElements) {
    fail(entry.key, "has " + std::to_string(entry.count) + " elements; at most " +
                        std::to_string(kMaxElements) + " are possible");
  }
}

}  // namespace runahead
