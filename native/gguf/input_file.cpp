#include "gguf/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "base/error.h"
#include "gguf/text.h"

namespace runahead {
namespace {

constexpr uint64_t kMaxReadBytes = uint64_t{1} << 30;  // some systems refuse 2 GiB at once

}  // namespace

InputFile::InputFile(const std::filesystem::path& path) : name_(printable(path.native(), 4096)) {
  // Without O_NONBLOCK opening a pipe would wait for its writer.
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) {
    throw system_error(name_ + ": cannot open", errno);
  }
  struct stat status{};
  const int result = ::fstat(descriptor_, &status);
  if (result != 0 || !S_ISREG(status.st_mode)) {
    const int reason = errno;
    ::close(descriptor_);
    if (result != 0) {
      throw system_error(name_ + ": cannot ask for the size", reason);
    }
    throw Error(ErrorCode::kIo,
                name_ + (S_ISDIR(status.st_mode) ? ": is a folder; choose the .gguf file in it"
                                                 : ": is not an ordinary file"));
  }
  bytes_ = static_cast<uint64_t>(status.st_size);
}

InputFile::~InputFile() {
  ::close(descriptor_);
}

void InputFile::read(uint64_t offset, void* destination, uint64_t size) const {
  auto* out = static_cast<std::byte*>(destination);
  while (size > 0) {
    const ssize_t n =
        ::pread(descriptor_, out, std::min(size, kMaxReadBytes), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      throw system_error(name_ + ": cannot read " + std::to_string(size) + " bytes at byte " +
                             std::to_string(offset),
                         errno);
    }
    if (n == 0) {
      throw Error(ErrorCode::kIo, name_ + ": ends at byte " + std::to_string(offset) +
                                      "; it has become shorter while it was read");
    }
    out += n;
    offset += static_cast<uint64_t>(n);
    size -= static_cast<uint64_t>(n);
  }
}

}  // namespace runahead
