// A valid file cut or changed at every place: it opens, or ends in an Error with a sentence. Run
// under the address and undefined-behaviour sanitizers, this also says that nothing is read out of
// bounds or overflows.

#include <random>

#include "gguf/gguf_file.h"
#include "gguf_builder.h"
#include "gguf_expect.h"
#include "gguf_folder.h"

namespace runahead {
namespace {

using test::error_of;
using test::GgufBuilder;
using test::GgufFolder;

GgufBuilder small() {
  GgufBuilder b;
  b.add_kv_string("general.name", "small")
      .add_kv_u32("general.alignment", 32)
      .add_kv_bool("flag", true);
  b.add_kv_f32("scale", 1.0f).add_kv_i64("seed", -1).add_kv_u16("split.count", 1);
  b.add_kv_strings("tokens", {"a", "bc", ""})
      .add_kv_array<int32_t>("types", {1, 2, 3})
      .add_kv_f64("theta", 1e6);
  b.add_tensor("norm", GGML_TYPE_F32, {8}).add_tensor("up", GGML_TYPE_Q4_0, {32, 2, 2});
  return b;
}

// All that can be asked of an open file; Errors are answers, too.
void ask_everything(const GgufFile& f) {
  (void)error_of([&] {
    for (const auto& [key, text] : f.describe_metadata()) {
      CHECK(is_printable(key));
      CHECK(is_printable(text));
    }
  });
  for (const char* key :
       {"general.name", "general.alignment", "flag", "scale", "seed", "tokens", "types", "theta"}) {
    (void)error_of([&] { (void)f.get_uint(key, 1, 1000); });
    (void)error_of([&] { (void)f.get_float(key); });
    (void)error_of([&] { (void)f.get_bool(key); });
    (void)error_of([&] { (void)f.get_string(key); });
    (void)error_of([&] { (void)f.get_strings(key); });
    (void)error_of([&] { (void)f.get_ints(key); });
    (void)error_of([&] { (void)f.array_length(key); });
  }
  for (const TensorInfo& t : f.tensors()) {
    CHECK(is_printable(t.name));
    REQUIRE(t.bytes <= f.files()[0].bytes);
    REQUIRE(t.offset <= f.files()[0].bytes - t.bytes);
    std::string bytes(t.bytes, '\0');
    f.read(t, 0, bytes.data(), bytes.size());
  }
}

class Damage {
 public:
  // True: it opens.
  bool opens(const std::string& bytes) {
    GgufBuilder::write_bytes(path_, bytes);
    const std::optional<Error> error = error_of([&] { ask_everything(GgufFile::open(path_)); });
    if (error) {
      const std::string text = error->what();
      CHECK_MESSAGE(text.find("damaged.gguf: ") != std::string::npos, text);
      CHECK_MESSAGE(is_printable(text), text);
      CHECK_MESSAGE(
          (error->code() == ErrorCode::kBadFile || error->code() == ErrorCode::kUnsupported), text);
    }
    ++(error ? n_refused : n_opened);
    return !error;
  }

  int n_opened = 0;
  int n_refused = 0;

 private:
  GgufFolder folder_;
  std::filesystem::path path_ = folder_ / "damaged.gguf";
};

TEST_CASE("a file cut anywhere before the end of its last tensor is refused") {
  const GgufBuilder b = small();
  const std::string bytes = b.bytes();
  const uint64_t padding = (32 - b.tensors.back().bytes.size() % 32) % 32;
  Damage damage;
  for (size_t n = 0; n <= bytes.size(); ++n) {
    CAPTURE(n);
    CHECK(damage.opens(bytes.substr(0, n)) == (n >= bytes.size() - padding));
  }
}

TEST_CASE("a file with any one byte changed opens or is refused") {
  const std::string bytes = small().bytes();
  Damage damage;
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const int change : {0x00, 0xff, -0x01, -0x80}) {  // negative: this bit
      std::string changed = bytes;
      changed[i] = static_cast<char>(change >= 0 ? change : changed[i] ^ -change);
      CAPTURE(i);
      CAPTURE(change);
      const bool opened = damage.opens(changed);
      if (i < 4 && changed[i] != bytes[i]) {
        CHECK_FALSE(opened);  // the magic
      }
    }
  }
  CHECK(damage.n_opened > 100);   // texts, weights
  CHECK(damage.n_refused > 100);  // lengths, types, counts
}

TEST_CASE("a file with an extreme number at any place opens or is refused") {
  const std::string bytes = small().bytes();
  Damage damage;
  for (size_t i = 0; i + 8 <= bytes.size(); ++i) {
    for (const uint64_t number :
         {uint64_t{0}, UINT64_MAX, uint64_t{1} << 63, uint64_t{1} << 62, uint64_t{1} << 32,
          uint64_t{0x7fffffff}, uint64_t{bytes.size()}, UINT64_MAX - 31}) {
      std::string changed = bytes;
      changed.replace(i, 8, test::raw(number));
      CAPTURE(i);
      CAPTURE(number);
      damage.opens(changed);
    }
  }
  CHECK(damage.n_refused > 1000);
}

TEST_CASE("files of random damage open or are refused") {
  const std::string bytes = small().bytes();
  std::mt19937 random(20260101);
  Damage damage;
  for (int round = 0; round < 3000; ++round) {
    CAPTURE(round);
    std::string changed = bytes;
    for (uint32_t n = random() % 4 + 1; n > 0; --n) {
      const size_t at = random() % changed.size();
      const size_t size = std::min<size_t>(random() % 16 + 1, changed.size() - at);
      switch (random() % 4) {
        case 0: changed[at] = static_cast<char>(random()); break;
        case 1: changed.erase(at, size); break;
        case 2: changed.insert(at, changed.substr(random() % changed.size(), size)); break;
        default: changed.replace(at, size, std::string(size, static_cast<char>(random()))); break;
      }
    }
    damage.opens(changed);
  }
  CHECK(damage.n_refused > 1000);
}

}  // namespace
}  // namespace runahead
