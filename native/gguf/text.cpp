#include "gguf/text.h"

#include <cstdint>

namespace runahead {
namespace {

// Bytes of the valid UTF-8 character, not a control, that `text` begins with; 0: none.
size_t character_bytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) {
    return lead < 0x20 || lead == 0x7f ? 0 : 1;
  }
  size_t n = 0;
  uint32_t code = 0;
  if (lead >= 0xc2 && lead <= 0xdf) {
    n = 2, code = lead & 0x1fu;
  } else if (lead >= 0xe0 && lead <= 0xef) {
    n = 3, code = lead & 0x0fu;
  } else if (lead >= 0xf0 && lead <= 0xf4) {
    n = 4, code = lead & 0x07u;
  }
  if (n == 0 || text.size() < n) {
    return 0;
  }
  for (size_t i = 1; i < n; ++i) {
    if ((byte(i) & 0xc0) != 0x80) {
      return 0;
    }
    code = code << 6 | (byte(i) & 0x3fu);
  }
  const bool overlong = (n == 3 && code < 0x800) || (n == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  const bool control = code < 0xa0;
  return overlong || surrogate || control || code > 0x10ffff ? 0 : n;
}

}  // namespace

std::string printable(std::string_view text, size_t max_bytes) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  while (!text.empty()) {
    if (out.size() >= max_bytes) {
      return out + "...";
    }
    const size_t n = character_bytes(text);
    if (n > 0) {
      out += text.substr(0, n);
    } else {
      const auto byte = static_cast<uint8_t>(text[0]);
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    }
    text.remove_prefix(n > 0 ? n : 1);
  }
  return out;
}

bool is_printable(std::string_view text) {
  while (!text.empty()) {
    const size_t n = character_bytes(text);
    if (n == 0) {
      return false;
    }
    text.remove_prefix(n);
  }
  return true;
}

}  // namespace runahead
