// bind/text.h: text of files, which may hold any bytes, for Python.

#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <string_view>

namespace runahead {

// What is not UTF-8 in it becomes U+FFFD.
inline nanobind::str text(std::string_view bytes) {
  return nanobind::steal<nanobind::str>(
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

// The same; None where there is no text.
inline nanobind::object text_or_none(const std::optional<std::string>& bytes) {
  return bytes ? nanobind::object(text(*bytes)) : nanobind::none();
}

}  // namespace runahead
