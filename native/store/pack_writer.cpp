#include "store/pack_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/reserved_memory.h"
#include "store/checksum.h"
#include "store/direct_file.h"
#include "store/pack.h"
#include "store/record_builder.h"

namespace runahead {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const fs::path& target) {
  return target.has_parent_path() ? target.parent_path() : fs::path(".");
}

// A temporary file that vanishes unless published. It is locked while its writer lives, so that a
// later writer can tell the leftovers of a dead one.
class TemporaryFile {
 public:
  explicit TemporaryFile(const fs::path& target) : target_(target) {
    const std::string stem = target.string() + ".tmp-" + std::to_string(getpid()) + "-";
    for (int attempt = 0; attempt < 1000; ++attempt) {
      path_ = stem + std::to_string(attempt);
      file_ = FileHandle(open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
      if (file_.get() >= 0) {
        // Some file systems know no locks; there, leftovers stay.
        const bool is_ours = flock(file_.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
        if (is_ours && is_linked()) {
          return;
        }
        continue;  // a writer that clears up took it for a leftover
      }
      if (errno != EEXIST) {
        throw system_error(path_.string() + ": cannot create", errno);
      }
    }
    throw Error(ErrorCode::kIo, stem + "*: cannot create a temporary file");
  }
  ~TemporaryFile() {
    if (!published_) {
      unlink(path_.c_str());
    }
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  // Takes the room now: a full disk shows before the work is done, and the file lies in few pieces.
  void allocate(uint64_t bytes) {
#ifdef __linux__
    if (fallocate(file_.get(), 0, 0, static_cast<off_t>(bytes)) == 0) {
      return;
    }
    if (errno != EOPNOTSUPP) {
      throw system_error(path_.string() + ": cannot take " + std::to_string(bytes) + " bytes",
                         errno);
    }
#endif
    if (ftruncate(file_.get(), static_cast<off_t>(bytes)) != 0) {
      throw system_error(path_.string() + ": cannot take " + std::to_string(bytes) + " bytes",
                         errno);
    }
  }

  // Records are written past the page cache where the file system allows it.
  void write_directly() {
#ifdef O_DIRECT
    const int flags = fcntl(file_.get(), F_GETFL);
    fcntl(file_.get(), F_SETFL, flags | O_DIRECT);
#endif
#ifdef F_NOCACHE
    fcntl(file_.get(), F_NOCACHE, 1);
#endif
  }

  void write(uint64_t offset, std::span<const std::byte> bytes) const {
    for (bool is_direct = true; !bytes.empty();) {
      const ssize_t wrote =
          pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (wrote < 0 && errno == EINVAL && is_direct) {
        is_direct = false;  // once: another thread may have turned it off meanwhile
        stop_writing_directly();
        continue;
      }
      if (wrote < 0 && errno == EINTR) {
        continue;
      }
      if (wrote <= 0) {
        throw system_error(path_.string() + ": writing " + std::to_string(bytes.size()) +
                               " bytes at " + std::to_string(offset) + " failed",
                           wrote == 0 ? ENOSPC : errno);
      }
      bytes = bytes.subspan(static_cast<size_t>(wrote));
      offset += static_cast<uint64_t>(wrote);
    }
  }

  void publish() {
    if (fsync(file_.get()) != 0) {
      throw system_error(path_.string() + ": fsync failed", errno);
    }
    if (rename(path_.c_str(), target_.c_str()) != 0) {
      throw system_error(path_.string() + ": cannot rename to " + target_.string(), errno);
    }
    published_ = true;
    const FileHandle folder(open(folder_of(target_).c_str(), O_RDONLY | O_CLOEXEC));
    if (folder.get() < 0 || (fsync(folder.get()) != 0 && errno != EINVAL)) {
      throw system_error(folder_of(target_).string() + ": fsync failed", errno);
    }
  }

 private:
  // Some file systems accept the flag and refuse the writes.
  void stop_writing_directly() const {
#ifdef O_DIRECT
    fcntl(file_.get(), F_SETFL, fcntl(file_.get(), F_GETFL) & ~O_DIRECT);
#endif
  }

  [[nodiscard]] bool is_linked() const {
    struct stat status;
    return fstat(file_.get(), &status) == 0 && status.st_nlink > 0;
  }

  fs::path target_;
  fs::path path_;
  FileHandle file_;
  bool published_ = false;
};

void remove_leftovers(const fs::path& target) {
  const std::string prefix = target.filename().string() + ".tmp-";
  std::error_code ignored;  // what cannot be listed or removed is left for another time
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_of(target), ignored)) {
    if (!entry.path().filename().string().starts_with(prefix)) {
      continue;
    }
    const FileHandle file(
        open(entry.path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (file.get() >= 0 && flock(file.get(), LOCK_EX | LOCK_NB) == 0) {
      unlink(entry.path().c_str());
    }
  }
}

void check_space(const fs::path& target, uint64_t bytes) {
  const fs::path folder = folder_of(target);
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  if (error) {
    throw system_error(folder.string() + ": cannot ask for its free space", error.value());
  }
  if (space.available < bytes) {
    throw Error(ErrorCode::kNoSpace, target.string() + ": the pack needs " + std::to_string(bytes) +
                                         " bytes, but " + folder.string() + " has only " +
                                         std::to_string(space.available) +
                                         " free; free some space or choose another folder");
  }
}

}  // namespace

WrittenPack write_pack(const GgufExperts& experts, const fs::path& target, WeightLayout wanted,
                       const StoreProgress& progress) {
  const StoreLayout layout =
      wanted == WeightLayout::kRepacked ? repacked_layout(experts.layout) : experts.layout;
  PackIndex index = make_pack_index(layout);
  const GgufStore source(experts);
  remove_leftovers(target);
  check_space(target, index.file_bytes);
  TemporaryFile temporary(target);
  temporary.allocate(index.file_bytes);
  temporary.write_directly();

  uint64_t largest = index.header_bytes;
  for (const SlotClass& slot_class : layout.classes) {
    largest = std::max(largest, slot_class.record_bytes);
  }
  struct Worker {
    RecordBuilder builder;
    ReservedMemory memory;
  };
  const auto make_worker = [&]() -> ExpertWork {
    const auto worker =
        std::make_shared<Worker>(RecordBuilder(source, layout), ReservedMemory(largest));
    return [&, worker](ExpertId id) {
      const std::span<std::byte> record(worker->memory.data(), layout.record_bytes(id));
      worker->builder.build(id, record);
      const size_t entry = index.entry(id);
      index.checksums[entry] = checksum(record);  // each entry is written by one worker
      temporary.write(index.offsets[entry], record);
    };
  };
  for_each_expert(layout, default_store_threads(), make_worker, progress);

  // The header comes last: without it the file is not a pack.
  const std::vector<std::byte> header = serialize_pack_header(index, experts.fingerprint);
  const ReservedMemory aligned(header.size());
  std::copy(header.begin(), header.end(), aligned.data());
  temporary.write(0, {aligned.data(), header.size()});
  temporary.publish();
  return {index.file_bytes, static_cast<int64_t>(index.offsets.size()), layout.weights};
}

}  // namespace runahead
