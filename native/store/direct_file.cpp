#include "store/direct_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <utility>

#include "base/align.h"
#include "base/error.h"

namespace runahead {
namespace {

#ifdef O_DIRECT
constexpr int kDirectFlag = O_DIRECT;
#else
constexpr int kDirectFlag = 0;
#endif

// Some file systems accept the flag and refuse the reads.
bool can_read_directly(int fd, uint64_t file_bytes) {
  if (file_bytes == 0) {
    return true;
  }
  const std::unique_ptr<void, decltype(&std::free)> page(std::aligned_alloc(kPageBytes, kPageBytes),
                                                         &std::free);
  return page != nullptr && (pread(fd, page.get(), kPageBytes, 0) >= 0 || errno != EINVAL);
}

}  // namespace

FileHandle::~FileHandle() {
  if (fd_ >= 0) {
    close(fd_);
  }
}

FileHandle::FileHandle(FileHandle&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileHandle& FileHandle::operator=(FileHandle&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

DirectFile::DirectFile(const std::filesystem::path& path) : path_(path) {
  file_ = FileHandle(open(path.c_str(), O_RDONLY | O_CLOEXEC | kDirectFlag));
  direct_ = file_.get() >= 0;
  if (!direct_ && errno == EINVAL) {
    file_ = FileHandle(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  }
  if (file_.get() < 0) {
    throw system_error(path.string() + ": cannot open", errno);
  }
  struct stat status;
  if (fstat(file_.get(), &status) != 0) {
    throw system_error(path.string() + ": cannot stat", errno);
  }
  if (!S_ISREG(status.st_mode)) {
    throw Error(ErrorCode::kIo, path.string() + ": not a regular file");
  }
  size_ = static_cast<uint64_t>(status.st_size);
  if (direct_ && !can_read_directly(file_.get(), size_)) {
    direct_ = false;
    file_ = FileHandle(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file_.get() < 0) {
      throw system_error(path.string() + ": cannot open", errno);
    }
  }
#ifdef F_NOCACHE
  direct_ = fcntl(file_.get(), F_NOCACHE, 1) == 0;
#endif
}

void DirectFile::read(uint64_t offset, std::span<std::byte> destination, size_t needed) const {
  CHECK(offset % kPageBytes == 0 && destination.size() % kPageBytes == 0 &&
        reinterpret_cast<uintptr_t>(destination.data()) % kPageBytes == 0 &&
        needed <= destination.size());
  const int fd = file_.get();
  read_fully([fd](std::byte* to, size_t bytes,
                  uint64_t from) { return pread(fd, to, bytes, static_cast<off_t>(from)); },
             path_.string(), offset, destination, needed == 0 ? destination.size() : needed);
#ifdef POSIX_FADV_DONTNEED
  if (!direct_) {  // a wish
    posix_fadvise(fd, static_cast<off_t>(offset), static_cast<off_t>(destination.size()),
                  POSIX_FADV_DONTNEED);
  }
#endif
}

void read_fully(const ReadAt& read_at, const std::string& what, uint64_t offset,
                std::span<std::byte> destination, size_t needed) {
  size_t done = 0;
  while (done < needed) {
    const size_t begin = align_down(done, kPageBytes);
    const ssize_t got =
        read_at(destination.data() + begin, destination.size() - begin, offset + begin);
    if (got < 0) {
      if (errno == EINTR) {
        continue;
      }
      throw system_error(what + ": reading " + std::to_string(destination.size() - begin) +
                             " bytes at " + std::to_string(offset + begin) + " failed",
                         errno);
    }
    const size_t reached = begin + static_cast<size_t>(got);
    if (reached <= done) {
      throw Error(ErrorCode::kIo, what + ": the file ends at byte " +
                                      std::to_string(offset + reached) + ", " +
                                      std::to_string(needed - reached) +
                                      " bytes before what should be read; was it cut or replaced?");
    }
    done = reached;
  }
}

}  // namespace runahead
