#include "gguf/byte_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "gguf/text.h"

namespace runahead {
namespace {

static_assert(std::endian::native == std::endian::little, "GGUF fields are read as they are");

constexpr uint64_t kBufferBytes = 64 << 10;

}  // namespace

ByteReader::ByteReader(const InputFile& file)
    : file_(file), end_(std::min(file.bytes(), kMaxHeaderBytes)) {}

std::string ByteReader::name(const char* field, uint64_t max_bytes) {
  const uint64_t size = u64(field);
  if (size == 0 || size > max_bytes) {
    fail(std::string(field) + " is " + std::to_string(size) + " bytes long; 1 to " +
         std::to_string(max_bytes) + " are possible");
  }
  std::string text(size, '\0');
  take(text.data(), size, field);
  if (!is_printable(text)) {
    fail(std::string(field) + " '" + printable(text) + "' is not plain UTF-8 text");
  }
  return text;
}

void ByteReader::take(void* destination, uint64_t size, const char* field) {
  if (size > left()) {
    fail_short(field, size);
  }
  auto* out = static_cast<std::byte*>(destination);
  while (size > 0) {
    if (position_ == buffer_begin_ + buffer_.size()) {
      buffer_begin_ = position_;
      buffer_.resize(std::min(kBufferBytes, left()));
      file_.read(position_, buffer_.data(), buffer_.size());
    }
    const uint64_t from = position_ - buffer_begin_;
    const uint64_t n = std::min(size, buffer_.size() - from);
    if (out != nullptr) {
      std::memcpy(out, buffer_.data() + from, n);
      out += n;
    }
    hash_ = fnv1a(hash_, buffer_.data() + from, n);
    position_ += n;
    size -= n;
  }
}

void ByteReader::skip(uint64_t size, const char* field) {
  take(nullptr, size, field);
}

void ByteReader::fail(const std::string& what, ErrorCode code) const {
  throw Error(code, file_.name() + ": " + (subject_.empty() ? "" : subject_ + ": ") + what);
}

void ByteReader::fail_short(const std::string& field, uint64_t size) const {
  const std::string needs =
      field + " needs " + std::to_string(size) + " bytes at byte " + std::to_string(position_);
  if (end_ < file_.bytes()) {
    fail(needs + "; metadata and tensor table may take " + std::to_string(end_) + " bytes in all");
  }
  fail(needs + ", but the file ends at byte " + std::to_string(end_) +
       "; it is damaged or was not downloaded to the end");
}

}  // namespace runahead
