// gguf/byte_reader.h
//
// ByteReader walks over the first part of a file, field by field, in order, through a small buffer.
// It never goes past the end of the file nor past kMaxHeaderBytes, so what it hands out is bounded
// by bytes that exist. All it passed is hashed. One thread.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "gguf/fnv.h"
#include "gguf/input_file.h"

namespace runahead {

// Metadata and tensor table of one file. The largest vocabularies take some 30 MB.
constexpr uint64_t kMaxHeaderBytes = uint64_t{256} << 20;

class ByteReader {
 public:
  explicit ByteReader(const InputFile& file);

  // What is being read, for messages: "key 'general.name'".
  void set_subject(std::string subject) { subject_ = std::move(subject); }

  [[nodiscard]] uint64_t position() const { return position_; }
  [[nodiscard]] uint64_t left() const { return end_ - position_; }
  [[nodiscard]] uint64_t hash() const { return hash_; }

  // `field` is named when the file ends before it does.
  uint32_t u32(const char* field) { return integer<uint32_t>(field); }
  uint64_t u64(const char* field) { return integer<uint64_t>(field); }
  // A length, then so many bytes, 1 to `max_bytes`.
  std::string name(const char* field, uint64_t max_bytes);
  void take(void* destination, uint64_t size, const char* field);
  void skip(uint64_t size, const char* field);

  // Throws Error(code): "<file>: <subject>: <what>".
  [[noreturn]] void fail(const std::string& what, ErrorCode code = ErrorCode::kBadFile) const;
  // The file ends (or the header has become too large) before `size` bytes of `field`.
  [[noreturn]] void fail_short(const std::string& field, uint64_t size) const;

 private:
  template <typename T>
  T integer(const char* field) {
    T value;
    take(&value, sizeof(T), field);
    return value;
  }

  const InputFile& file_;
  std::string subject_;
  std::vector<std::byte> buffer_;
  uint64_t buffer_begin_ = 0;  // where in the file buffer_ is from
  uint64_t position_ = 0;
  uint64_t end_;  // of what may be read
  uint64_t hash_ = kFnvStart;
};

}  // namespace runahead
