// store_errors.h: doctest beside our CHECK, and what an expression throws as text to look into.

#pragma once

#include <string>

#include "base/error.h"

#undef CHECK  // doctest's from here on
#include <doctest/doctest.h>

namespace runahead::test {

// "<code>: <text>" of the Error that `run` throws, "" when it throws none.
template <typename Run>
std::string error_of(Run run) {
  try {
    run();
  } catch (const Error& error) {
    return std::string(name_of(error.code())) + ": " + error.what();
  }
  return "";
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace runahead::test
