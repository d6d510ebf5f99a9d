// One row per way to break a GGUF: what is broken, and what the error must say.

#include <sys/stat.h>

#include <functional>
#include <limits>

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
using test::raw_string;

constexpr uint64_t k2To31 = uint64_t{1} << 31;
constexpr uint64_t k2To32 = uint64_t{1} << 32;
constexpr uint64_t k2To61 = uint64_t{1} << 61;
constexpr uint64_t k2To62 = uint64_t{1} << 62;
constexpr uint64_t k2To63 = uint64_t{1} << 63;
constexpr uint64_t kMax = UINT64_MAX;

using Bytes = std::string;

struct Row {
  std::string name;
  std::function<void(GgufBuilder&)> edit;  // what is built
  std::vector<std::string> words;          // besides the file's name
  ErrorCode code = ErrorCode::kBadFile;
  std::function<void(Bytes&)> damage = {};  // what was built
};

// Valid: some keys, an array of strings, three tensors.
GgufBuilder valid() {
  GgufBuilder b;
  b.add_kv_string("general.architecture", "olmoe");
  b.add_kv_u32("general.alignment", 32);
  b.add_kv_u32("olmoe.block_count", 2);
  b.add_kv_strings("tokens", {"a", "bb", "ccc"});
  b.add_kv_array<float>("scores", {0, 1, 2});
  b.add_tensor("first", GGML_TYPE_F32, {8, 2}).add_tensor("second", GGML_TYPE_Q8_0, {64, 2});
  b.add_tensor("third", GGML_TYPE_F16, {16});
  return b;
}

Row shape(const char* name, std::vector<uint64_t> ne, std::vector<std::string> words,
          uint32_t type = GGML_TYPE_F32) {
  words.push_back("'second'");
  return {name,
          [ne = std::move(ne), type](GgufBuilder& b) {
            b.tensor("second").ne = ne;
            b.tensor("second").type = type;
          },
          std::move(words)};
}

Row tensor(const char* name, std::function<void(GgufBuilder::Tensor&)> edit,
           std::vector<std::string> words, ErrorCode code = ErrorCode::kBadFile) {
  return {name, [edit = std::move(edit)](GgufBuilder& b) { edit(b.tensor("second")); },
          std::move(words), code};
}

// A key 'bad' before all others, of this type number and payload.
Row value(const char* name, uint32_t type, Bytes payload, std::vector<std::string> words,
          ErrorCode code = ErrorCode::kBadFile) {
  words.push_back("'bad'");
  return {name,
          [type, payload = std::move(payload)](GgufBuilder& b) {
            b.kvs.insert(b.kvs.begin(), {"bad", type, payload, {}});
          },
          std::move(words), code};
}

Row damaged(const char* name, std::function<void(Bytes&)> damage, std::vector<std::string> words,
            ErrorCode code = ErrorCode::kBadFile) {
  return {name, [](GgufBuilder&) {}, std::move(words), code, std::move(damage)};
}

Row magic(const char* name, const char* begin, std::vector<std::string> words) {
  return damaged(
      name, [begin = Bytes(begin)](Bytes& bytes) { bytes.replace(0, begin.size(), begin); },
      std::move(words));
}

Row alignment(const char* name, std::function<void(GgufBuilder::Kv&)> edit,
              std::vector<std::string> words) {
  words.push_back("general.alignment");
  return {name, [edit = std::move(edit)](GgufBuilder& b) { edit(b.kv("general.alignment")); },
          std::move(words)};
}

std::vector<Row> header_rows() {
  const auto version = [](uint32_t v) { return [v](GgufBuilder& b) { b.version = v; }; };
  const auto n_tensors = [](uint64_t n) { return [n](GgufBuilder& b) { b.n_tensors = n; }; };
  const auto n_keys = [](uint64_t n) { return [n](GgufBuilder& b) { b.n_kv = n; }; };
  return {
      damaged("empty file", [](Bytes& b) { b.clear(); }, {"magic", "ends at byte 0"}),
      damaged("one byte", [](Bytes& b) { b.resize(1); }, {"magic", "ends at byte 1"}),
      damaged("only the magic", [](Bytes& b) { b.resize(4); }, {"version", "ends at byte 4"}),
      damaged("cut in the counts", [](Bytes& b) { b.resize(20); },
              {"number of keys", "ends at byte 20"}),
      damaged("zeros", [](Bytes& b) { b.assign(200, '\0'); },
              {"\\x00\\x00\\x00\\x00", "not a GGUF"}),
      magic("other magic", "GGUE", {"'GGUE'", "not a GGUF"}),
      magic("reversed magic", "FUGG", {"'FUGG'", "big-endian"}),
      magic("the format before GGUF", "tjgg", {"'tjgg'", "before GGUF"}),
      magic("a Git LFS pointer", "version https://git-lfs", {"Git LFS pointer", "download"}),
      magic("a web page", "<!DOCTYPE html>", {"web page", "download"}),
      magic("a zip archive", "PK\3\4", {"zip archive"}),
      {"version 0", version(0), {"version is 0", "2 and 3"}, ErrorCode::kUnsupported},
      {"version 1", version(1), {"version is 1", "2 and 3", "convert"}, ErrorCode::kUnsupported},
      {"a later version", version(4), {"version is 4", "2 and 3"}, ErrorCode::kUnsupported},
      {"an absurd version",
       version(UINT32_MAX),
       {"version is 4294967295"},
       ErrorCode::kUnsupported},
      {"big-endian",
       version(0x03000000),
       {"50331648", "3 in the other byte order"},
       ErrorCode::kUnsupported},
      {"big-endian version 2",
       version(0x02000000),
       {"2 in the other byte order"},
       ErrorCode::kUnsupported},
      {"-1 tensors", n_tensors(kMax), {"number of tensors is 18446744073709551615", "room"}},
      {"2^61 tensors", n_tensors(k2To61), {"number of tensors is 2305843009213693952"}},
      {"2^31 tensors", n_tensors(k2To31), {"number of tensors is 2147483648"}},
      {"one tensor too many", n_tensors(4), {"tensor 3", "name"}},
      {"-1 keys", n_keys(kMax), {"number of keys is 18446744073709551615", "room"}},
      {"2^62 keys", n_keys(k2To62), {"number of keys is 4611686018427387904"}},
      {"2^32 keys", n_keys(k2To32), {"number of keys is 4294967296"}},
      {"one key too many", n_keys(6), {"tensor 0", "name"}},
  };
}

std::vector<Row> key_rows() {
  const auto key_length = [](uint64_t n) {
    return [n](GgufBuilder& b) { b.kv("tokens").key_length = n; };
  };
  const auto key = [](Bytes k) { return [k](GgufBuilder& b) { b.kv("tokens").key = k; }; };
  return {
      {"key of length -1", key_length(kMax), {"key 3", "name", "18446744073709551615"}},
      {"key of length 2^63", key_length(k2To63), {"key 3", "9223372036854775808"}},
      {"key longer than the file", key_length(60000), {"key 3", "name", "60000", "the file ends"}},
      {"key of 65536 bytes", key(Bytes(65536, 'k')), {"key 3", "65536", "65535"}},
      {"empty key", key(""), {"key 3", "0 bytes"}},
      {"key with a NUL", key(Bytes("to\0ens", 6)), {"key 3", "to\\x00ens", "UTF-8"}},
      {"key that is not UTF-8", key("to\xffkens"), {"key 3", "to\\xffkens", "UTF-8"}},
      {"key with a line break", key("to\nkens"), {"key 3", "to\\x0akens"}},
      {"key twice", key("general.architecture"), {"'general.architecture'", "twice"}},
  };
}

std::vector<Row> value_rows() {
  using namespace test;
  const auto array = [](uint32_t type, uint64_t count, const Bytes& elements) {
    return raw(type) + raw(count) + elements;
  };
  return {
      value("type 13", 13, "", {"type is 13", "0 to 12"}),
      value("type -1", UINT32_MAX, "", {"type is 4294967295"}),
      value("bool of 2", kGgufBool, "\2", {"is 2", "bool"}),
      value("string of length -1", kGgufString, raw(kMax),
            {"string", "18446744073709551615", "the file ends"}),
      value("string of length 2^63", kGgufString, raw(k2To63), {"string", "9223372036854775808"}),
      value("string longer than the file", kGgufString, raw<uint64_t>(5000), {"string", "5000"}),
      value("array of type 13", kGgufArray, array(13, 1, "x"), {"elements", "13"}),
      value("array of arrays", kGgufArray, array(kGgufArray, 1, array(kGgufU8, 1, "x")),
            {"array of arrays"}, ErrorCode::kUnsupported),
      value(
          "deeply nested arrays", kGgufArray,
          [] {
            Bytes nested;
            for (int i = 0; i < 10000; ++i) {
              nested += raw<uint32_t>(kGgufArray) + raw<uint64_t>(1);
            }
            return nested;
          }(),
          {"array of arrays"}, ErrorCode::kUnsupported),
      value("array of 2^63 bytes", kGgufArray, array(kGgufU8, k2To63, ""),
            {"9223372036854775808", "u8"}),
      value("array of -1 numbers", kGgufArray, array(kGgufF64, kMax, ""),
            {"18446744073709551615", "f64"}),
      value("array whose size is 0 modulo 2^64", kGgufArray, array(kGgufU64, k2To61, ""),
            {"2305843009213693952"}),
      value("array whose size is 16 modulo 2^64", kGgufArray,
            array(kGgufU32, k2To62 + 4, Bytes(16, 'x')), {"4611686018427387908"}),
      value("array one longer than the file", kGgufArray, array(kGgufU8, 100000, ""),
            {"100000 elements"}),
      value("array of 2^61 strings", kGgufArray, array(kGgufString, k2To61, ""),
            {"2305843009213693952", "string"}),
      value("array of -1 strings", kGgufArray, array(kGgufString, kMax, ""),
            {"18446744073709551615"}),
      value("string of length -1 in an array", kGgufArray,
            array(kGgufString, 2, raw_string("ok") + raw(kMax)),
            {"element 1 of 2", "18446744073709551615"}),
      value("string longer than the file in an array", kGgufArray,
            array(kGgufString, 3, raw_string("a") + raw_string("b") + raw<uint64_t>(9999)),
            {"element 2 of 3", "9999"}),
      {"array that is longer than said",
       [](GgufBuilder& b) { b.kv("scores").payload += Bytes(4, '\x7f'); },
       {"tensor 0"}},
      alignment("alignment 0", [](auto& kv) { kv.payload = raw<uint32_t>(0); },
                {"is 0", "power of two"}),
      alignment("alignment 13", [](auto& kv) { kv.payload = raw<uint32_t>(13); },
                {"is 13", "power of two"}),
      alignment("alignment 2^31", [](auto& kv) { kv.payload = raw<uint32_t>(0x80000000); },
                {"is 2147483648"}),
      alignment("alignment as u64",
                [](auto& kv) { kv.type = kGgufU64, kv.payload = raw<uint64_t>(32); },
                {"u64", "must be u32"}),
      alignment("alignment as i32", [](auto& kv) { kv.type = kGgufI32; }, {"i32", "must be u32"}),
      alignment("alignment as an array",
                [](auto& kv) {
                  kv.type = kGgufArray,
                  kv.payload = raw<uint32_t>(kGgufU32) + raw<uint64_t>(1) + raw(32);
                },
                {"array", "must be u32"}),
      alignment("alignment as a string",
                [](auto& kv) { kv.type = kGgufString, kv.payload = raw_string("32"); },
                {"string", "must be u32"}),
      alignment("alignment other than the writer's",
                [](auto& kv) { kv.payload = raw<uint32_t>(128); },
                {"'second'", "offset is 64", "128"}),
  };
}

std::vector<Row> tensor_rows() {
  using T = GgufBuilder::Tensor;
  const auto dims = [](uint32_t n) { return [n](T& t) { t.n_dims = n; }; };
  const auto type = [](uint32_t n) { return [n](T& t) { t.type = n; }; };
  const auto offset = [](uint64_t n) { return [n](T& t) { t.offset = n; }; };
  const auto name = [](Bytes text) { return [text](T& t) { t.name = text; }; };
  std::vector<Row> rows{
      tensor("empty name", name(""), {"tensor 1", "0 bytes"}),
      tensor("name of 64 bytes", name(Bytes(64, 'n')), {"tensor 1", "64 bytes", "1 to 63"}),
      tensor("name of length -1", [](T& t) { t.name_length = kMax; },
             {"tensor 1", "18446744073709551615"}),
      tensor("name with a NUL", name(Bytes("a\0b", 3)), {"tensor 1", "a\\x00b", "UTF-8"}),
      tensor("name that is not UTF-8", name("\xc3("), {"tensor 1", "\\xc3(", "UTF-8"}),
      tensor("name twice", name("first"), {"tensor 'first'", "twice"}),
      tensor("no dimensions", dims(0), {"'second'", "0 dimensions", "1 to 4"}),
      tensor("five dimensions", dims(5), {"'second'", "5 dimensions", "1 to 4"}),
      tensor("-1 dimensions", dims(UINT32_MAX), {"'second'", "4294967295 dimensions"}),
      shape("dimension 0", {64, 0}, {"dimension 1 is 0"}),
      shape("first dimension 0", {0, 2}, {"dimension 0 is 0"}),
      shape("dimension -1", {64, kMax}, {"dimension 1 is 18446744073709551615"}),
      shape("dimension 2^63", {k2To63}, {"dimension 0 is 9223372036854775808"}),
      shape("elements that are 0 modulo 2^64", {k2To32, k2To32},
            {"dimension 1 is 4294967296", "counted"}),
      shape("elements that are small modulo 2^64", {k2To32, k2To31, 2, 1},
            {"dimension 1", "counted"}),
      shape("elements beyond 2^63", {k2To31, k2To31, k2To31, k2To31}, {"dimension 2", "counted"}),
      shape("bytes that are 0 modulo 2^64", {k2To62}, {"bytes", "4611686018427387904", "f32"}),
      shape("bytes that are small modulo 2^64", {k2To62 + 4}, {"bytes", "4611686018427387908"}),
      shape("bytes that are small modulo 2^64 over dimensions", {1, (k2To62 + 4) / 4, 4},
            {"bytes", "f32"}),
      shape("bytes near 2^63", {k2To61 - 32}, {"'second'", "past the end"}),
      shape("nearly 2^63 elements in blocks", {k2To62 / 5 / 32 * 32, 9},
            {"8819849510242379244", "past the end"}, GGML_TYPE_Q8_0),
      shape("rows that are not whole blocks", {63, 2}, {"63", "blocks of 32", "q8_0"},
            GGML_TYPE_Q8_0),
      shape("rows of half a superblock", {128, 2}, {"128", "blocks of 256", "q4_K"},
            GGML_TYPE_Q4_K),
      tensor("type that was removed", type(4), {"'second'", "type 4", "no longer"},
             ErrorCode::kUnsupported),
      tensor("repacked type that was removed", type(31), {"type 31", "no longer"},
             ErrorCode::kUnsupported),
      tensor("first unknown type", type(GGML_TYPE_COUNT),
             {"'second'", "type " + std::to_string(GGML_TYPE_COUNT), "unknown"},
             ErrorCode::kUnsupported),
      tensor("type -1", type(UINT32_MAX), {"type 4294967295", "unknown"}, ErrorCode::kUnsupported),
      tensor("type 2^31", type(0x80000000), {"type 2147483648", "unknown"},
             ErrorCode::kUnsupported),
      tensor("offset off the alignment", offset(65), {"'second'", "offset is 65", "alignment 32"}),
      tensor("offset past the end", offset(1 << 20), {"'second'", "1048576", "past the end"}),
      tensor("offset that overflows", offset(kMax - 31),
             {"'second'", "18446744073709551584", "past the end"}),
      {"offset and bytes that overflow",
       [](GgufBuilder& b) {
         const uint64_t data_begin = (b.header().size() + 31) / 32 * 32;
         b.tensor("second").offset = kMax - 63 - data_begin;  // it would end at byte 72
       },
       {"'second'", "136 bytes", "past the end"}},
      tensor("offset 2^63", offset(k2To63), {"'second'", "9223372036854775808"}),
      tensor("the same place as another", offset(0), {"inside tensor", "'first'"}),
      tensor("the middle of another", offset(32), {"'second'", "inside tensor 'first'"}),
      {"two tensors of 2^62 bytes each",
       [](GgufBuilder& b) {
         b.tensor("first").ne = {k2To62 / 4};
         b.tensor("second").ne = {k2To62 / 34 / 32 * 32};
       },
       {"'first'", "4611686018427387904 bytes", "past the end"}},
      {"one tensor over all others",
       [](GgufBuilder& b) { b.tensor("first").ne = {8, 8}; },
       {"'second'", "inside tensor 'first'"}},
      damaged("last byte of the data missing", [](Bytes& b) { b.pop_back(); },
              {"'third'", "past the end", "downloaded"}),
      damaged("no data", [](Bytes& b) { b.resize(valid().header().size()); },
              {"'first'", "past the end"}),
      damaged("cut in the tensor table", [](Bytes& b) { b.resize(valid().header().size() - 1); },
              {"'third'", "offset", "the file ends"}),
      damaged("a downloaded half", [](Bytes& b) { b.resize(b.size() / 2); }, {"the file ends"}),
  };
  return rows;
}

void expect_all(const std::vector<Row>& rows) {
  const GgufFolder folder;
  for (const Row& row : rows) {
    CAPTURE(row.name);
    GgufBuilder b = valid();
    row.edit(b);
    Bytes bytes = b.bytes();
    if (row.damage) {
      row.damage(bytes);
    }
    GgufBuilder::write_bytes(folder / "broken.gguf", bytes);
    std::vector<std::string> words = row.words;
    words.push_back("broken.gguf: ");
    expect_error(row.code, words, [&] { (void)GgufFile::open(folder / "broken.gguf"); });
  }
}

TEST_CASE("the file that the rows below break is valid") {
  const GgufFolder folder;
  valid().write(folder / "m.gguf");
  CHECK(GgufFile::open(folder / "m.gguf").tensors().size() == 3);
}

TEST_CASE("a broken header is refused with its field and value") {
  expect_all(header_rows());
}
TEST_CASE("a broken key is refused with its place and name") {
  expect_all(key_rows());
}
TEST_CASE("a broken value is refused with its key and value") {
  expect_all(value_rows());
}
TEST_CASE("a broken tensor is refused with its name and value") {
  expect_all(tensor_rows());
}

TEST_CASE("what is no ordinary file is refused with its name") {
  const GgufFolder folder;
  const auto expect_io = [&](const std::filesystem::path& path,
                             const std::vector<std::string>& words) {
    expect_error(ErrorCode::kIo, words, [&] { (void)GgufFile::open(path); });
  };
  expect_io(folder / "absent.gguf", {"absent.gguf: cannot open", "No such file"});
  expect_io(folder.path(), {folder.path().string(), "is a folder"});
  REQUIRE(mkfifo((folder / "pipe.gguf").c_str(), 0600) == 0);
  expect_io(folder / "pipe.gguf", {"pipe.gguf", "not an ordinary file"});
  expect_io("/dev/zero", {"/dev/zero", "not an ordinary file"});
  std::filesystem::create_symlink(folder / "loop.gguf", folder / "loop.gguf");
  expect_io(folder / "loop.gguf", {"loop.gguf: cannot open"});
  expect_io("", {"cannot open"});
}

TEST_CASE("a file name that is not UTF-8 gives a printable error") {
  const GgufFolder folder;
  GgufBuilder::write_bytes(folder / "bad\xff\n.gguf", "GGUF");
  expect_error(ErrorCode::kBadFile, {"bad\\xff\\x0a.gguf: header"},
               [&] { (void)GgufFile::open(folder / "bad\xff\n.gguf"); });
}

}  // namespace
}  // namespace runahead
