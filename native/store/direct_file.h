// store/direct_file.h
//
// DirectFile reads a file past the page cache (O_DIRECT, F_NOCACHE), so that expert reads neither
// evict what others cached nor cost a copy. Where a file system refuses direct I/O (tmpfs), it
// reads through the cache and asks for the pages to be dropped.
//
// Constant after opening; any number of threads may read.

#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

namespace runahead {

// Owns a file descriptor.
class FileHandle {
 public:
  FileHandle() = default;
  explicit FileHandle(int fd) : fd_(fd) {}
  ~FileHandle();
  FileHandle(FileHandle&& other) noexcept;
  FileHandle& operator=(FileHandle&& other) noexcept;
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_ = -1;
};

class DirectFile {
 public:
  // Throws Error(kIo) naming the file.
  explicit DirectFile(const std::filesystem::path& path);

  // Reads at least `needed` bytes (0: all) of `destination` from `offset`; a read may ask for whole
  // pages past the end of the file as long as the needed bytes are there. REQUIRES: offset,
  // destination.data() and its size are multiples of 4096. Throws Error(kIo) naming the file, the
  // offset and the reason.
  void read(uint64_t offset, std::span<std::byte> destination, size_t needed = 0) const;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] uint64_t size() const { return size_; }
  [[nodiscard]] bool direct() const { return direct_; }

 private:
  std::filesystem::path path_;
  FileHandle file_;
  uint64_t size_ = 0;
  bool direct_ = false;
};

// As pread(2): what it returns and how it sets errno.
using ReadAt = std::function<ssize_t(std::byte* destination, size_t bytes, uint64_t offset)>;

// Calls `read_at` until `needed` bytes are there, through short reads (it goes on from the last
// whole page, as direct I/O wants) and EINTR. `what` names the file in errors.
void read_fully(const ReadAt& read_at, const std::string& what, uint64_t offset,
                std::span<std::byte> destination, size_t needed);

}  // namespace runahead
