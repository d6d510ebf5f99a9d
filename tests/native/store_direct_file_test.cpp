#include "store/direct_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "store_errors.h"
#include "store_model.h"

namespace runahead::test {
namespace {

// Plays back what pread might do: a number of bytes, or -errno.
struct Script {
  std::vector<int> steps;
  std::string file;
  size_t at = 0;
  std::vector<uint64_t> offsets;

  ssize_t operator()(std::byte* to, size_t bytes, uint64_t offset) {
    offsets.push_back(offset);
    const int step = at < steps.size() ? steps[at++] : static_cast<int>(bytes);
    if (step < 0) {
      errno = -step;
      return -1;
    }
    const size_t n =
        std::min({bytes, static_cast<size_t>(step), file.size() - std::min(file.size(), offset)});
    std::memcpy(to, file.data() + offset, n);
    return static_cast<ssize_t>(n);
  }
};

std::string pattern(size_t bytes) {
  std::string text(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) {
    text[i] = static_cast<char>(i * 31 + (i >> 8));
  }
  return text;
}

}  // namespace

TEST_CASE("reads go on after short reads, from the last whole page, and after signals") {
  Script script{{-EINTR, 5000, -EINTR, 4096, 1 << 20}, pattern(40960), 0, {}};
  std::vector<std::byte> out(32768);
  read_fully(std::ref(script), "f", 4096, out, out.size());
  CHECK(std::memcmp(out.data(), script.file.data() + 4096, out.size()) == 0);
  CHECK(script.offsets == std::vector<uint64_t>{4096, 4096, 8192, 8192, 12288});
}

TEST_CASE("a read that needs bytes past the end fails, one that only has room for them does not") {
  std::vector<std::byte> out(8192);
  Script enough{{}, pattern(5000), 0, {}};
  read_fully(std::ref(enough), "f", 0, out, 5000);
  CHECK(std::memcmp(out.data(), enough.file.data(), 5000) == 0);

  for (const size_t file_bytes : {0u, 1u, 4095u, 4096u, 4097u, 8191u}) {
    CAPTURE(file_bytes);
    Script cut{{}, pattern(file_bytes), 0, {}};
    const std::string error =
        error_of([&] { read_fully(std::ref(cut), "name", 0, out, out.size()); });
    CHECK(has(error, "io: name: the file ends at byte"));
    CHECK(cut.offsets.size() <= 3);
  }
}

TEST_CASE("a failing read names the file, the place and the reason") {
  Script script{{4096, -EIO}, pattern(8192), 0, {}};
  std::vector<std::byte> out(8192);
  CHECK(error_of([&] { read_fully(std::ref(script), "disk/x", 0, out, out.size()); }) ==
        "io: disk/x: reading 4096 bytes at 4096 failed: Input/output error");
}

TEST_CASE("DirectFile reads the tail of a file whose size is odd, with or without direct I/O") {
  std::vector<std::filesystem::path> folders = {std::filesystem::temp_directory_path()};
  if (access("/dev/shm", W_OK) == 0) {
    folders.emplace_back("/dev/shm");  // tmpfs, where O_DIRECT may be refused
  }
  for (const std::filesystem::path& folder : folders) {
    CAPTURE(folder.string());
    const std::filesystem::path path = folder / ("runahead-direct-" + std::to_string(getpid()));
    const std::string text = pattern(10000);
    GgufBuilder::write_bytes(path, text);
    {
      const DirectFile file(path);
      CHECK(file.size() == 10000);
      const ReservedMemory memory(12288);
      file.read(0, {memory.data(), 12288}, 10000);
      CHECK(std::memcmp(memory.data(), text.data(), 10000) == 0);
      file.read(8192, {memory.data(), 4096}, 1808);
      CHECK(std::memcmp(memory.data(), text.data() + 8192, 1808) == 0);
      CHECK(has(error_of([&] { file.read(8192, {memory.data(), 4096}); }), "ends at byte 10000"));
    }
    std::filesystem::remove(path);
  }
}

TEST_CASE("what cannot be opened is named") {
  CHECK(has(error_of([] { DirectFile("/nonexistent/x.pack"); }),
            "io: /nonexistent/x.pack: cannot open: No such file"));
  CHECK(has(error_of([] { DirectFile("/"); }), "io: /: "));
}

}  // namespace runahead::test
