// What a well-formed GGUF says comes out as it went in.

#include <gguf.h>

#include <cmath>
#include <limits>
#include <memory>
#include <thread>

#include "gguf/gguf_file.h"
#include "gguf_builder.h"
#include "gguf_expect.h"
#include "gguf_folder.h"

namespace runahead {
namespace {

using test::expect_error;
using test::GgufBuilder;
using test::GgufFolder;

constexpr uint64_t kAny = UINT64_MAX;

GgufBuilder all_value_types() {
  GgufBuilder b;
  b.add_kv_u8("u8", 200).add_kv_i8("i8", -100).add_kv_u16("u16", 60000).add_kv_i16("i16", -30000);
  b.add_kv_u32("u32", 4000000000u).add_kv_i32("i32", -2000000000);
  b.add_kv_u64("u64", UINT64_MAX).add_kv_i64("i64", INT64_MIN);
  b.add_kv_f32("f32", 1.5f).add_kv_f64("f64", 1e300);
  b.add_kv_bool("yes", true).add_kv_bool("no", false);
  b.add_kv_string("string", "Grüße").add_kv_string("empty", "");
  b.add_kv_array<uint8_t>("u8s", {1, 255}).add_kv_array<int8_t>("i8s", {-1, 127});
  b.add_kv_array<uint16_t>("u16s", {65535}).add_kv_array<int16_t>("i16s", {-32768});
  b.add_kv_array<uint32_t>("u32s", {4294967295u}).add_kv_array<int32_t>("i32s", {-7, 8, 9});
  b.add_kv_array<uint64_t>("u64s", {1, uint64_t{INT64_MAX}})
      .add_kv_array<int64_t>("i64s", {INT64_MIN});
  b.add_kv_array<float>("f32s", {0.5f, 2.0f}).add_kv_array<double>("f64s", {0.25});
  b.add_kv_array<bool>("bools", {true, false, true}).add_kv_array<int32_t>("none", {});
  b.add_kv_strings("strings", {"a", "", "ccc"});
  return b;
}

TEST_CASE("every type of value comes back") {
  const GgufFolder folder;
  for (const uint32_t version : {2u, 3u}) {
    GgufBuilder b = all_value_types();
    b.version = version;
    b.write(folder / "m.gguf");
    const GgufFile f = GgufFile::open(folder / "m.gguf");

    CHECK(f.get_uint("u8", 0, kAny) == 200);
    CHECK(f.get_uint("u16", 0, kAny) == 60000);
    CHECK(f.get_uint("u32", 0, kAny) == 4000000000u);
    CHECK(f.get_uint("u64", 0, kAny) == UINT64_MAX);
    CHECK(f.get_float("f32") == 1.5);
    CHECK(f.get_float("f64") == 1e300);
    CHECK(f.get_bool("yes") == true);
    CHECK(f.get_bool("no") == false);
    CHECK(f.get_string("string") == "Grüße");
    CHECK(f.get_string("empty") == "");
    CHECK(f.get_strings("strings") == std::vector<std::string>{"a", "", "ccc"});
    using Ints = std::vector<int64_t>;
    CHECK(f.get_ints("u8s") == Ints{1, 255});
    CHECK(f.get_ints("i8s") == Ints{-1, 127});
    CHECK(f.get_ints("u16s") == Ints{65535});
    CHECK(f.get_ints("i16s") == Ints{-32768});
    CHECK(f.get_ints("u32s") == Ints{4294967295});
    CHECK(f.get_ints("i32s") == Ints{-7, 8, 9});
    CHECK(f.get_ints("u64s") == Ints{1, INT64_MAX});
    CHECK(f.get_ints("i64s") == Ints{INT64_MIN});
    CHECK(f.get_ints("bools") == Ints{1, 0, 1});
    CHECK(f.get_ints("none") == Ints{});
    CHECK(f.array_length("f32s") == 2);
    CHECK(f.array_length("strings") == 3);
    CHECK(f.is_array("none"));
    CHECK_FALSE(f.is_array("u8"));
    CHECK_FALSE(f.is_array("absent"));
  }
}

TEST_CASE("signed integers are accepted where they fit") {
  const GgufFolder folder;
  GgufBuilder b;
  b.add_kv_i8("i8", 5).add_kv_i16("i16", 6).add_kv_i32("i32", 7).add_kv_i64("i64", INT64_MAX);
  b.write(folder / "m.gguf");
  const GgufFile f = GgufFile::open(folder / "m.gguf");
  CHECK(f.get_uint("i8", 5, 5) == 5);
  CHECK(f.get_uint("i16", 0, 6) == 6);
  CHECK(f.require_uint("i32", 7, 100) == 7);
  CHECK(f.get_uint("i64", 0, kAny) == uint64_t{INT64_MAX});
}

TEST_CASE("an absent key is nullopt, or an error where it is required") {
  const GgufFolder folder;
  GgufBuilder().write(folder / "m.gguf");
  const GgufFile f = GgufFile::open(folder / "m.gguf");
  CHECK_FALSE(f.has("x"));
  CHECK_FALSE(f.get_uint("x", 0, 1).has_value());
  CHECK_FALSE(f.get_float("x").has_value());
  CHECK_FALSE(f.get_bool("x").has_value());
  CHECK_FALSE(f.get_string("x").has_value());
  CHECK_FALSE(f.get_strings("x").has_value());
  CHECK_FALSE(f.get_ints("x").has_value());
  CHECK_FALSE(f.array_length("x").has_value());
  expect_error(ErrorCode::kBadFile, {"m.gguf", "'x.y'", "missing"},
               [&] { (void)f.require_uint("x.y", 0, 1); });
}

TEST_CASE("a value of the wrong type or out of range is an error that names key and value") {
  const GgufFolder folder;
  GgufBuilder b = all_value_types();
  b.add_kv_f32("nan", std::nanf("")).add_kv_f64("inf", -INFINITY);
  b.add_kv_array<uint64_t>("big", {3, uint64_t{1} << 63});
  b.add_kv_raw("badbools", test::kGgufArray,
               test::raw<uint32_t>(test::kGgufBool) + test::raw<uint64_t>(2) + std::string("\1\7"));
  b.write(folder / "m.gguf");
  const GgufFile f = GgufFile::open(folder / "m.gguf");
  const auto bad = [](std::vector<std::string> words, const auto& act) {
    words.push_back("m.gguf");
    expect_error(ErrorCode::kBadFile, words, act);
  };
  bad({"'u8'", "200", "0 to 199"}, [&] { (void)f.get_uint("u8", 0, 199); });
  bad({"'u8'", "200", "201 to 300"}, [&] { (void)f.require_uint("u8", 201, 300); });
  bad({"'i8'", "-100", "0 to"}, [&] { (void)f.get_uint("i8", 0, kAny); });
  bad({"'i64'", "-9223372036854775808"}, [&] { (void)f.get_uint("i64", 0, kAny); });
  bad({"'u64'", "18446744073709551615"}, [&] { (void)f.get_uint("u64", 0, uint64_t{INT64_MAX}); });
  bad({"'f32'", "f32", "1.5", "whole number"}, [&] { (void)f.get_uint("f32", 0, kAny); });
  bad({"'yes'", "bool", "true"}, [&] { (void)f.get_uint("yes", 0, kAny); });
  bad({"'i32s'", "array of i32", "-7"}, [&] { (void)f.get_uint("i32s", 0, kAny); });
  bad({"'u32'", "4000000000", "floating"}, [&] { (void)f.get_float("u32"); });
  bad({"'f32s'", "array of f32"}, [&] { (void)f.get_float("f32s"); });
  bad({"'nan'", "nan", "finite"}, [&] { (void)f.get_float("nan"); });
  bad({"'inf'", "-inf", "finite"}, [&] { (void)f.get_float("inf"); });
  bad({"'u8'", "200", "bool"}, [&] { (void)f.get_bool("u8"); });
  bad({"'bools'", "array of bool"}, [&] { (void)f.get_bool("bools"); });
  bad({"'strings'", "array of string", "ccc"}, [&] { (void)f.get_string("strings"); });
  bad({"'u8'", "200", "string"}, [&] { (void)f.get_string("u8"); });
  bad({"'string'", "Grüße", "array of strings"}, [&] { (void)f.get_strings("string"); });
  bad({"'i32s'", "array of strings"}, [&] { (void)f.get_strings("i32s"); });
  bad({"'f64s'", "array of f64", "whole numbers"}, [&] { (void)f.get_ints("f64s"); });
  bad({"'u8'", "200"}, [&] { (void)f.get_ints("u8"); });
  bad({"'strings'"}, [&] { (void)f.get_ints("strings"); });
  bad({"'big'", "9223372036854775808", "element 1"}, [&] { (void)f.get_ints("big"); });
  bad({"'badbools'", "7", "element 1"}, [&] { (void)f.get_ints("badbools"); });
  bad({"'string'", "Grüße"}, [&] { (void)f.array_length("string"); });
}

TEST_CASE("text that is not UTF-8 is kept in values and made printable in descriptions") {
  const GgufFolder folder;
  const std::string bytes("a\xff\0\n", 4);
  GgufBuilder()
      .add_kv_string("text", bytes)
      .add_kv_strings("texts", {bytes})
      .write(folder / "m.gguf");
  const GgufFile f = GgufFile::open(folder / "m.gguf");
  CHECK(f.get_string("text") == bytes);
  CHECK(f.get_strings("texts") == std::vector<std::string>{bytes});
  const auto described = f.describe_metadata();
  REQUIRE(described.size() == 2);
  CHECK(described[0].second == "a\\xff\\x00\\x0a");
  CHECK(described[1].second == "[\"a\\xff\\x00\\x0a\"]");
}

TEST_CASE("metadata is described in file order, long values by their length") {
  const GgufFolder folder;
  GgufBuilder b;
  b.add_kv_string("z", "first").add_kv_u32("a", 7).add_kv_bool("b", true).add_kv_f32("f", 0.5f);
  b.add_kv_array<int32_t>("short", {1, -2})
      .add_kv_array<float>("long", std::vector<float>(9, 1.0f));
  b.add_kv_strings("words", std::vector<std::string>(1000, "w")).add_kv_strings("few", {"x", "y"});
  b.add_kv_string("template", std::string(5000, 't'));
  b.write(folder / "m.gguf");
  const auto lines = GgufFile::open(folder / "m.gguf").describe_metadata();
  const std::vector<std::pair<std::string, std::string>> expected{
      {"z", "first"},
      {"a", "7"},
      {"b", "true"},
      {"f", "0.5"},
      {"short", "[1, -2]"},
      {"long", "[9 f32s]"},
      {"words", "[1000 strings]"},
      {"few", "[\"x\", \"y\"]"},
      {"template", std::string(200, 't') + "..."}};
  CHECK(lines == expected);
}

TEST_CASE("tensors of all types of interest come back with type, shape, size and bytes") {
  const GgufFolder folder;
  const std::vector<ggml_type> types{
      GGML_TYPE_F32,    GGML_TYPE_F16,   GGML_TYPE_BF16, GGML_TYPE_Q4_0, GGML_TYPE_Q8_0,
      GGML_TYPE_Q4_K,   GGML_TYPE_Q5_K,  GGML_TYPE_Q6_K, GGML_TYPE_Q2_K, GGML_TYPE_Q3_K,
      GGML_TYPE_IQ4_NL, GGML_TYPE_MXFP4, GGML_TYPE_I32,  GGML_TYPE_F64,  GGML_TYPE_IQ2_XXS};
  for (const uint32_t alignment : {1u, 32u, 4096u}) {
    GgufBuilder b;
    b.set_alignment(alignment);
    for (const ggml_type type : types) {
      b.add_tensor(std::string("t.") + ggml_type_name(type), type, {256, 3, 2});
    }
    b.add_tensor("one", GGML_TYPE_F32, {1}).add_tensor("four", GGML_TYPE_F32, {2, 3, 4, 5});
    b.write(folder / "m.gguf");
    const GgufFile f = GgufFile::open(folder / "m.gguf");
    REQUIRE(f.tensors().size() == types.size() + 2);
    for (size_t i = 0; i < f.tensors().size(); ++i) {
      const TensorInfo& t = f.tensors()[i];
      const GgufBuilder::Tensor& written = b.tensors[i];
      CAPTURE(t.name);
      CHECK(t.name == written.name);
      CHECK(static_cast<uint32_t>(t.type) == written.type);
      CHECK(f.find(t.name) == &t);
      CHECK(&f.require(t.name) == &t);
      CHECK(t.file == 0);
      CHECK(t.offset % alignment == 0);
      CHECK(t.bytes == written.bytes.size());
      std::string bytes(t.bytes, '\0');
      f.read(t, 0, bytes.data(), t.bytes);
      CHECK(bytes == written.bytes);
      f.read(t, t.bytes - 3, bytes.data(), 3);
      CHECK(bytes.substr(0, 3) == written.bytes.substr(t.bytes - 3));
    }
    CHECK(f.require("four").ne == std::array<int64_t, 4>{2, 3, 4, 5});
    CHECK(f.require("one").ne == std::array<int64_t, 4>{1, 1, 1, 1});
    CHECK(f.require("t.q4_K").ne == std::array<int64_t, 4>{256, 3, 2, 1});
    CHECK(f.find("t.") == nullptr);
    expect_error(ErrorCode::kBadFile, {"m.gguf", "'absent.weight'", "missing"},
                 [&] { (void)f.require("absent.weight"); });
  }
}

TEST_CASE("ggml's own reader sees the same file") {
  const GgufFolder folder;
  GgufBuilder b = all_value_types();
  b.set_alignment(64);
  b.add_tensor("a.weight", GGML_TYPE_Q4_0, {64, 5}).add_tensor("b.weight", GGML_TYPE_F32, {3});
  b.add_tensor("c.weight", GGML_TYPE_Q6_K, {512, 2, 3});
  b.write(folder / "m.gguf");
  const GgufFile f = GgufFile::open(folder / "m.gguf");
  const std::unique_ptr<gguf_context, decltype(&gguf_free)> reference(
      gguf_init_from_file((folder / "m.gguf").c_str(), {true, nullptr}), &gguf_free);
  REQUIRE(reference);
  CHECK(gguf_get_n_kv(reference.get()) == static_cast<int64_t>(f.describe_metadata().size()));
  REQUIRE(gguf_get_n_tensors(reference.get()) == static_cast<int64_t>(f.tensors().size()));
  for (size_t i = 0; i < f.tensors().size(); ++i) {
    const TensorInfo& t = f.tensors()[i];
    const auto id = static_cast<int64_t>(i);
    CHECK(t.name == gguf_get_tensor_name(reference.get(), id));
    CHECK(t.type == gguf_get_tensor_type(reference.get(), id));
    CHECK(t.bytes == gguf_get_tensor_size(reference.get(), id));
    CHECK(t.offset ==
          gguf_get_data_offset(reference.get()) + gguf_get_tensor_offset(reference.get(), id));
  }
}

TEST_CASE("a file without tensors, or without anything, is valid") {
  const GgufFolder folder;
  GgufBuilder().write(folder / "nothing.gguf");
  const GgufFile nothing = GgufFile::open(folder / "nothing.gguf");
  CHECK(nothing.tensors().empty());
  CHECK(nothing.describe_metadata().empty());
  CHECK(nothing.find("x") == nullptr);
  REQUIRE(nothing.files().size() == 1);
  CHECK(nothing.files()[0].bytes == 24);
  CHECK(nothing.path() == folder / "nothing.gguf");

  GgufBuilder().add_kv_strings("tokenizer.ggml.tokens", {"a", "b"}).write(folder / "vocab.gguf");
  CHECK(GgufFile::open(folder / "vocab.gguf").array_length("tokenizer.ggml.tokens") == 2);
}

TEST_CASE("tensors may lie in any order and with gaps, and the last one needs no padding") {
  const GgufFolder folder;
  GgufBuilder b;
  b.add_tensor("second", GGML_TYPE_F32, {8}).add_tensor("first", GGML_TYPE_F32, {7});
  b.tensors[0].offset = 64;
  b.tensors[1].offset = 0;
  std::string bytes = b.header();
  bytes.resize((bytes.size() + 31) / 32 * 32);
  const uint64_t data = bytes.size();
  bytes += b.tensors[1].bytes;
  bytes.resize(data + 64);
  bytes += b.tensors[0].bytes;
  GgufBuilder::write_bytes(folder / "m.gguf", bytes);
  const GgufFile f = GgufFile::open(folder / "m.gguf");
  CHECK(f.require("first").offset == data);
  CHECK(f.require("second").offset == data + 64);
}

TEST_CASE("the fingerprint is that of the content, not of the place") {
  const GgufFolder folder;
  const auto fingerprint = [&](const GgufBuilder& b, const char* name) {
    b.write(folder / name);
    return GgufFile::open(folder / name).fingerprint();
  };
  GgufBuilder b;
  b.add_kv_string("general.name", "one").add_kv_array<int32_t>("ids", {1, 2, 3});
  b.add_tensor("a", GGML_TYPE_F32, {64, 64}).add_tensor("b", GGML_TYPE_F32, {16});
  const uint64_t original = fingerprint(b, "a.gguf");
  CHECK(fingerprint(b, "b.gguf") == original);

  GgufBuilder other_name = b;
  other_name.kvs[0].payload.back() = 'E';
  CHECK(fingerprint(other_name, "c.gguf") != original);
  GgufBuilder other_array = b;
  other_array.kvs[1].payload.back() = 1;
  CHECK(fingerprint(other_array, "c.gguf") != original);
  GgufBuilder other_shape = b;
  other_shape.tensors[0].ne = {32, 128};
  CHECK(fingerprint(other_shape, "c.gguf") != original);
  GgufBuilder other_weights = b;
  for (char& byte : other_weights.tensors[0].bytes) {
    byte = static_cast<char>(byte + 1);
  }
  CHECK(fingerprint(other_weights, "c.gguf") != original);
  GgufBuilder longer = b;
  longer.tensors[1].bytes += std::string(64, '\0');
  CHECK(fingerprint(longer, "c.gguf") != original);
}

TEST_CASE("a file cut, emptied or rewritten after opening gives an error when it is read again") {
  const GgufFolder folder;
  GgufBuilder b;
  b.add_kv_string("name", std::string(100, 'n')).add_kv_strings("words", {"one", "two"});
  b.add_tensor("a", GGML_TYPE_F32, {64});
  const auto path = folder / "m.gguf";
  b.write(path);
  const GgufFile f = GgufFile::open(path);
  std::string buffer(256, '\0');

  GgufBuilder damaged = b;  // same size, but a length in the array is absurd now
  damaged.kv("words").payload[12] = '\x7f';
  damaged.write(path);
  expect_error(ErrorCode::kBadFile, {"m.gguf", "'words'", "changed"},
               [&] { (void)f.get_strings("words"); });

  std::filesystem::resize_file(path, f.require("a").offset + 100);
  expect_error(ErrorCode::kIo, {"m.gguf", "shorter"},
               [&] { f.read(f.require("a"), 0, buffer.data(), 256); });
  f.read(f.require("a"), 0, buffer.data(), 100);
  std::filesystem::resize_file(path, 30);
  expect_error(ErrorCode::kIo, {"m.gguf", "shorter"}, [&] { (void)f.get_string("name"); });
  std::filesystem::remove(path);
  expect_error(ErrorCode::kIo, {"m.gguf", "cannot open"},
               [&] { f.read(f.require("a"), 0, buffer.data(), 1); });
}

TEST_CASE("threads may share an open file") {
  const GgufFolder folder;
  GgufBuilder b;
  b.add_kv_strings("words", std::vector<std::string>(100, "word"))
      .add_tensor("a", GGML_TYPE_F32, {1024});
  b.write(folder / "m.gguf");
  const GgufFile f = GgufFile::open(folder / "m.gguf");
  std::vector<int> right(4, 0);
  {
    std::vector<std::jthread> threads;
    for (int& n : right) {
      threads.emplace_back([&f, &b, &n] {
        std::string bytes(4096, '\0');
        for (int i = 0; i < 50; ++i) {
          f.read(f.require("a"), 0, bytes.data(), bytes.size());
          n += bytes == b.tensors[0].bytes && f.get_strings("words")->size() == 100;
        }
      });
    }
  }
  CHECK(right == std::vector<int>(4, 50));
}

}  // namespace
}  // namespace runahead
