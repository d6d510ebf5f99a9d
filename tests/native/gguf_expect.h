// gguf_expect.h: what the GGUF tests ask of errors. Brings doctest.

#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "gguf/text.h"

#undef CHECK  // doctest's from here on
#include <doctest/doctest.h>

namespace runahead::test {

// The Error that `act` ends in; nullopt when it ends well. Anything else thrown fails the test.
template <typename Act>
std::optional<Error> error_of(Act&& act) {
  try {
    std::forward<Act>(act)();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

// `act` must end in an Error of this code whose text is printable and has all the words.
template <typename Act>
void expect_error(ErrorCode code, const std::vector<std::string>& words, Act&& act) {
  const std::optional<Error> error = error_of(std::forward<Act>(act));
  REQUIRE_MESSAGE(error.has_value(), "no error");
  const std::string text = error->what();
  CAPTURE(text);
  CHECK_MESSAGE(error->code() == code, name_of(error->code()));
  CHECK(is_printable(text));
  CHECK(text.size() < 1000);
  for (const std::string& word : words) {
    CHECK_MESSAGE(text.find(word) != std::string::npos, "the text lacks: ", word);
  }
}

}  // namespace runahead::test
