// gguf_folder.h: a fresh folder for a test's GGUF files, removed with all that is in it at the end.

#pragma once

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

namespace runahead::test {

class GgufFolder {
 public:
  GgufFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "runahead-gguf-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      throw std::runtime_error("cannot make a folder for the test: " + name);
    }
    path_ = name;
  }
  ~GgufFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  GgufFolder(const GgufFolder&) = delete;
  GgufFolder& operator=(const GgufFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path operator/(std::string_view name) const {
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace runahead::test
