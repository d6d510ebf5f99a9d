// model/file_kind.h: GGUFs that hold something other than a language model.

#pragma once

#include <string>

#include "gguf/gguf_file.h"

namespace runahead {

// Throws Error(kUnsupported) that says what the file is, unless it may be a language model.
void check_is_language_model(const GgufFile& file, const std::string& architecture);

}  // namespace runahead
