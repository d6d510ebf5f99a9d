// Split models: any shard opens the whole; what does not belong together is refused.

#include "gguf/gguf_file.h"
#include "gguf/split_name.h"
#include "gguf_builder.h"
#include "gguf_expect.h"
#include "gguf_folder.h"

namespace runahead {
namespace {

using test::expect_error;
using test::GgufBuilder;
using test::GgufFolder;

// Three shards: metadata only; two tensors; one tensor.
struct SplitModel {
  GgufFolder folder;
  std::vector<GgufBuilder> shards{3};

  SplitModel() {
    shards[0].add_kv_string("general.architecture", "olmoe").add_kv_string("general.name", "small");
    for (uint16_t i = 0; i < 3; ++i) {
      shards[i].add_split(i, 3, 3);
    }
    shards[1].add_tensor("a", GGML_TYPE_F32, {8}).add_tensor("b", GGML_TYPE_Q8_0, {32, 2});
    shards[2].add_tensor("c", GGML_TYPE_F16, {16});
  }
  [[nodiscard]] std::filesystem::path path(int no) const {
    return folder / GgufBuilder::shard_name("m", no, 3);
  }
  void write() const {
    for (int i = 0; i < 3; ++i) {
      shards[static_cast<size_t>(i)].write(path(i));
    }
  }
  void expect_bad(const std::vector<std::string>& words, int opened = 0) const {
    expect_error(ErrorCode::kBadFile, words, [&] { (void)GgufFile::open(path(opened)); });
  }
};

TEST_CASE("any shard opens the whole model") {
  SplitModel m;
  m.write();
  uint64_t fingerprint = 0;
  for (int opened = 0; opened < 3; ++opened) {
    const GgufFile f = GgufFile::open(m.path(opened));
    CHECK(f.path() == m.path(0));
    REQUIRE(f.files().size() == 3);
    REQUIRE(f.tensors().size() == 3);
    CHECK(f.get_string("general.name") == "small");
    for (const char* name : {"a", "b", "c"}) {
      const TensorInfo& t = f.require(name);
      CHECK(t.file == (t.name == "c" ? 2 : 1));
      std::string bytes(t.bytes, '\0');
      f.read(t, 0, bytes.data(), bytes.size());
      CHECK(bytes == m.shards[static_cast<size_t>(t.file)].tensor(name).bytes);
    }
    CHECK((opened == 0 || f.fingerprint() == fingerprint));
    fingerprint = f.fingerprint();
  }
  m.shards[2].tensors[0].bytes[16] ^= 1;
  m.write();
  CHECK(GgufFile::open(m.path(0)).fingerprint() != fingerprint);
}

TEST_CASE("a relative path without a folder opens the shards beside it") {
  SplitModel m;
  m.write();
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(m.folder.path());
  const size_t n = GgufFile::open(m.path(1).filename()).files().size();
  std::filesystem::current_path(before);
  CHECK(n == 3);
}

TEST_CASE("a count of 0 or 1 is a whole model, whatever its name and the other split keys say") {
  const GgufFolder folder;
  for (const uint16_t count : {uint16_t{0}, uint16_t{1}}) {
    GgufBuilder b;
    b.add_split(0, count, 17).add_tensor("a", GGML_TYPE_F32, {4});
    b.write(folder / "joined.gguf");
    CHECK(GgufFile::open(folder / "joined.gguf").tensors().size() == 1);
  }
}

TEST_CASE("missing shards are named, the first few of many") {
  SplitModel m;
  m.write();
  std::filesystem::remove(m.path(2));
  m.expect_bad({"1 of 3", "missing", "m-00003-of-00003.gguf", "same folder"});
  std::filesystem::remove(m.path(0));
  m.expect_bad({"2 of 3", "m-00001-of-00003.gguf", "m-00003-of-00003.gguf"}, 1);

  GgufBuilder b;
  b.add_split(0, 9999, 1);
  b.write(m.folder / "big-00001-of-09999.gguf");
  expect_error(ErrorCode::kBadFile,
               {"9998 of 9999", "big-00002-of-09999.gguf", "big-00006-of-09999.gguf", ", ..."},
               [&] { (void)GgufFile::open(m.folder / "big-00001-of-09999.gguf"); });
}

TEST_CASE("a shard under a wrong name says which name it must have") {
  SplitModel m;
  m.write();
  const auto expect_renamed = [&](const char* name, const std::vector<std::string>& words) {
    std::filesystem::copy_file(m.path(1), m.folder / name);
    expect_error(ErrorCode::kBadFile, words, [&] { (void)GgufFile::open(m.folder / name); });
  };
  expect_renamed("renamed.gguf", {"renamed.gguf", "shard 2 of 3", "'renamed-00002-of-00003.gguf'"});
  expect_renamed("n-00003-of-00003.gguf", {"split.no 1", "'n-00002-of-00003.gguf'"});
  expect_renamed("n-00002-of-00004.gguf", {"shard 2 of 3", "'n-00002-of-00003.gguf'"});
  expect_renamed("n-00000-of-00003.gguf", {"shard 2 of 3"});
  expect_renamed("n-2-of-3.gguf", {"shard 2 of 3"});
}

TEST_CASE("shards in the wrong order are refused") {
  SplitModel m;
  std::swap(m.shards[1], m.shards[2]);
  m.write();
  m.expect_bad({"m-00002-of-00003.gguf", "'split.no'", "is 2", "1 is needed"});
  m.expect_bad({"m-00002-of-00003.gguf", "split.no 2"}, 1);
}

TEST_CASE("a shard of another model is refused") {
  SplitModel m;
  SUBCASE("that is not split") {
    m.shards[2].kvs.clear();
    m.write();
    m.expect_bad({"m-00003-of-00003.gguf", "'split.count'", "missing"});
  }
  SUBCASE("of another number of shards") {
    m.shards[2].kvs.clear();
    m.shards[2].add_split(2, 4, 3);
    m.write();
    m.expect_bad({"m-00003-of-00003.gguf", "'split.count'", "is 4", "another model"});
  }
  SUBCASE("of another number of tensors") {
    m.shards[2].kvs.clear();
    m.shards[2].add_split(2, 3, 5);
    m.write();
    m.expect_bad({"m-00003-of-00003.gguf", "'split.tensors.count'", "is 5", "3 is needed"});
  }
  SUBCASE("with fewer tensors than the model misses") {
    m.shards[2].tensors.clear();
    m.write();
    m.expect_bad({"'split.tensors.count'", "is 3", "2 tensors"});
  }
  SUBCASE("with a tensor that another shard has") {
    m.shards[2].tensors[0].name = "b";
    m.write();
    m.expect_bad({"m-00003-of-00003.gguf", "tensor 'b'", "twice", "m-00002-of-00003.gguf"});
  }
  SUBCASE("of another architecture") {
    m.shards[2].add_kv_string("general.architecture", "qwen3moe");
    m.write();
    m.expect_bad({"m-00003-of-00003.gguf", "'general.architecture'", "qwen3moe", "olmoe"});
  }
  SUBCASE("of another name") {
    m.shards[1].add_kv_string("general.name", "large");
    m.write();
    m.expect_bad({"m-00002-of-00003.gguf", "'general.name'", "large", "small"});
  }
}

TEST_CASE("a shard that repeats the first shard's name is accepted") {
  SplitModel m;
  m.shards[1].add_kv_string("general.name", "small").add_kv_string("general.architecture", "olmoe");
  m.write();
  CHECK(GgufFile::open(m.path(0)).tensors().size() == 3);
}

TEST_CASE("damage in any shard is reported with that shard's name") {
  SplitModel m;
  m.write();
  std::filesystem::resize_file(m.path(2), std::filesystem::file_size(m.path(2)) - 20);
  m.expect_bad({"m-00003-of-00003.gguf", "tensor 'c'", "end of the file"});
  std::filesystem::resize_file(m.path(2), 0);
  m.expect_bad({"m-00003-of-00003.gguf", "file ends at byte 0"}, 1);
  std::filesystem::remove(m.path(2));
  std::filesystem::create_directory(m.path(2));
  expect_error(ErrorCode::kIo, {"m-00003-of-00003.gguf", "folder"},
               [&] { (void)GgufFile::open(m.path(0)); });
}

TEST_CASE("split keys of a wrong type or value are refused") {
  SplitModel m;
  GgufBuilder& first = m.shards[0];
  first.kvs.clear();
  SUBCASE("count as a string") {
    first.add_kv_string("split.count", "3");
    m.write();
    m.expect_bad({"'split.count'", "string", "3"});
  }
  SUBCASE("absurd count") {
    first.add_kv_u64("split.count", UINT64_MAX);
    m.write();
    m.expect_bad({"'split.count'", "18446744073709551615"});
  }
  SUBCASE("number not below the count") {
    first.add_split(3, 3, 3);
    m.write();
    m.expect_bad({"'split.no'", "is 3", "0 to 2"});
  }
  SUBCASE("no number") {
    first.add_kv_u16("split.count", 3);
    m.write();
    m.expect_bad({"'split.no'", "missing"});
  }
  SUBCASE("no tensor count") {
    first.add_kv_u16("split.count", 3).add_kv_u16("split.no", 0);
    m.write();
    m.expect_bad({"'split.tensors.count'", "missing"});
  }
  SUBCASE("negative tensor count") {
    first.add_split(0, 3, -1);
    m.write();
    m.expect_bad({"'split.tensors.count'", "is -1"});
  }
}

TEST_CASE("split names are taken apart and put together") {
  const auto name = SplitName::parse("/models/Qwen3-30B-A3B-Q4_K_M-00002-of-00013.gguf");
  REQUIRE(name);
  CHECK(name->prefix == "Qwen3-30B-A3B-Q4_K_M");
  CHECK(name->no == 1);
  CHECK(name->count == 13);
  CHECK(name->of_shard(12) == "Qwen3-30B-A3B-Q4_K_M-00013-of-00013.gguf");
  CHECK_FALSE(SplitName::parse("m.gguf"));
  CHECK_FALSE(SplitName::parse("m-00004-of-00003.gguf"));
  CHECK_FALSE(SplitName::parse("m-00001-of-00003.gguf.part"));
  CHECK_FALSE(SplitName::parse("m-00001-of-000003.gguf"));
}

}  // namespace
}  // namespace runahead
