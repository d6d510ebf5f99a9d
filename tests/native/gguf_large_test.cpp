// Files whose metadata really is as large as it says.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gguf/gguf_file.h"
#include "gguf_builder.h"
#include "gguf_expect.h"
#include "gguf_folder.h"

namespace runahead {
namespace {

using test::expect_error;
using test::GgufBuilder;
using test::GgufFolder;
using test::raw;

// The file is a hole, so that it costs no disk.
std::filesystem::path with_hole(const GgufFolder& folder, const GgufBuilder& b, uint64_t bytes) {
  const std::filesystem::path path = folder / "hole.gguf";
  GgufBuilder::write_bytes(path, b.header());
  std::filesystem::resize_file(path, bytes);
  return path;
}

TEST_CASE("metadata that really is that large is refused above a bound") {
  const GgufFolder folder;
  const uint64_t tera = uint64_t{1} << 40;
  GgufBuilder numbers;
  numbers.add_kv_array<uint8_t>("bad", {}, tera / 2);
  expect_error(ErrorCode::kBadFile, {"'bad'", "549755813888"},
               [&] { (void)GgufFile::open(with_hole(folder, numbers, tera)); });
  GgufBuilder text;
  text.add_kv_raw("bad", test::kGgufString, raw(tera / 2));
  expect_error(ErrorCode::kBadFile, {"'bad'", "549755813888", "may take 268435456 bytes"},
               [&] { (void)GgufFile::open(with_hole(folder, text, tera)); });
  GgufBuilder keys;
  keys.n_kv = 1 << 20;
  expect_error(ErrorCode::kBadFile, {"number of keys is 1048576"},
               [&] { (void)GgufFile::open(with_hole(folder, keys, tera)); });
  GgufBuilder tensors;
  tensors.n_tensors = 1 << 20;
  expect_error(ErrorCode::kBadFile, {"number of tensors is 1048576"},
               [&] { (void)GgufFile::open(with_hole(folder, tensors, tera)); });
}

TEST_CASE("an array that nobody asks for takes no memory, and too long a one is not handed out") {
  const GgufFolder folder;
  constexpr uint64_t n = 100'000'000;
  GgufBuilder b;
  b.add_kv_array<uint8_t>("large", {}, n);
  const std::filesystem::path path = with_hole(folder, b, n + 1000);

  // A child begins with a peak of its own, so what earlier tests took does not hide growth.
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const auto peak = [] {
      rusage usage{};
      getrusage(RUSAGE_SELF, &usage);
#ifdef __APPLE__
      return usage.ru_maxrss;
#else
      return usage.ru_maxrss * 1024;
#endif
    };
    const long before = peak();
    const bool length_known = GgufFile::open(path).array_length("large") == n;
    _exit(length_known && peak() - before < 32 * 1024 * 1024 ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);

  const GgufFile f = GgufFile::open(path);
  CHECK(f.describe_metadata().at(0).second == "[100000000 u8s]");
  expect_error(ErrorCode::kBadFile, {"'large'", "100000000 elements", "16777216"},
               [&] { (void)f.get_ints("large"); });
}

}  // namespace
}  // namespace runahead
