// gguf/text.h: names and values from an untrusted file, made fit for a message.

#pragma once

#include <string>
#include <string_view>

namespace runahead {

// UTF-8 without control characters, at most about `max_bytes` long: bytes that are not valid UTF-8
// and control characters become \xNN, a longer text ends in "...".
[[nodiscard]] std::string printable(std::string_view text, size_t max_bytes = 100);

// True for valid UTF-8 without control characters (NUL among them).
[[nodiscard]] bool is_printable(std::string_view text);

}  // namespace runahead
