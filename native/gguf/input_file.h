// gguf/input_file.h
//
// InputFile is an ordinary file opened for reading; folders, pipes and devices are refused. Reads
// are positioned, so one InputFile may be used by several threads.

#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace runahead {

class InputFile {
 public:
  // Throws Error(kIo) naming the file and the reason.
  explicit InputFile(const std::filesystem::path& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }  // the path, fit for a message
  [[nodiscard]] uint64_t bytes() const { return bytes_; }          // when it was opened

  // Reads all of [offset, offset + size). Throws Error(kIo) naming file and place, also when the
  // file has become shorter.
  void read(uint64_t offset, void* destination, uint64_t size) const;

 private:
  std::string name_;
  int descriptor_ = -1;
  uint64_t bytes_ = 0;
};

}  // namespace runahead
