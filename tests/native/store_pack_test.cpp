// Packs that are damaged, cut or foreign are refused; a writer that fails leaves nothing behind.

#include "store/pack.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

#include "store/checksum.h"
#include "store/direct_file.h"
#include "store/pack_store.h"
#include "store/pack_writer.h"
#include "store_errors.h"
#include "store_model.h"

namespace runahead::test {
namespace {

struct Fixture {
  Fixture() {
    store_model_builder().write(folder / "m.gguf");
    experts = open_experts(folder / "m.gguf");
    write_pack(experts, folder / "m.pack", WeightLayout::kRepacked, {});
    bytes = read_bytes(folder / "m.pack");
  }

  // What opening says of these bytes.
  std::string open(const std::string& damaged) const {
    GgufBuilder::write_bytes(folder / "x.pack", damaged);
    return error_of([&] { PackStore(folder / "x.pack", experts); });
  }

  GgufFolder folder;
  GgufExperts experts;
  std::string bytes;
};

template <typename T>
void put(std::string& bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(T));
}

// A header that lies, yet has the right checksum.
void seal(std::string& bytes, size_t header_bytes) {
  put<uint64_t>(bytes, kPackChecksumOffset, 0);
  put<uint64_t>(bytes, kPackChecksumOffset,
                checksum({reinterpret_cast<const std::byte*>(bytes.data()), header_bytes}));
}

constexpr size_t kClassOfLayer = 64;
constexpr size_t kClass0 = kClassOfLayer + 4 * kStoreLayers;
constexpr size_t kMatrix0 = kClass0 + 8;
constexpr size_t kMatrixBytes = 48;
constexpr size_t kClass1 = kMatrix0 + 3 * kMatrixBytes;
constexpr size_t kEntry0 = kClass1 + 8 + 3 * kMatrixBytes;
constexpr size_t kEntriesEnd = kEntry0 + 15 * 24;

}  // namespace

TEST_CASE("every field of a pack's header is checked, also when its checksum is right") {
  const Fixture f;
  const size_t header_bytes = pack_header_bytes(f.experts.layout);
  REQUIRE(header_bytes == 4096);
  struct Damage {
    const char* says;
    size_t offset;
    uint64_t value;
    size_t width;
  };
  const std::vector<Damage> table = {
      {"not an expert pack", 0, 'X', 1},
      {"not an expert pack", 7, 0, 1},
      {"version is 2, expected 1", 8, 2, 4},
      {"version is 0, expected 1", 8, 0, 4},
      {"version is 4294967295", 8, ~0u, 4},
      {"weight layout is 7", 12, 7, 4},
      {"weight layout is 256", 12, 256, 4},
      {"weight layout is", 12, f.bytes[12] == 0, 4},
      {"header_bytes is 0, expected 4096", 16, 0, 8},
      {"header_bytes is 8192", 16, 8192, 8},
      {"header_bytes is 18446744073709551615", 16, ~uint64_t{0}, 8},
      {"file_bytes is 0", 32, 0, 8},
      {"file_bytes is 18446744073709551615", 32, ~uint64_t{0}, 8},
      {"the pack was made from another file", 40, 1, 8},
      {"n_layer is 5, expected 4", 48, 5, 4},
      {"n_layer is 2147483648", 48, 0x80000000, 4},
      {"n_expert is 0, expected 5", 52, 0, 4},
      {"n_expert is 4294967295", 52, ~0u, 4},
      {"n_class is 3", 56, 3, 4},
      {"reserved field is 1", 60, 1, 4},
      {"class of layer 0 is 0, expected -1", kClassOfLayer, 0, 4},
      {"class of layer 2 is 0, expected 1", kClassOfLayer + 8, 0, 4},
      {"class of layer 3 is 1000000", kClassOfLayer + 12, 1000000, 4},
      {"class 0 n_matrix is 2", kClass0, 2, 4},
      {"class 0 reserved field is 9", kClass0 + 4, 9, 4},
      {"class 1 n_matrix is 4294967295", kClass1, ~0u, 4},
      {"matrix 'gate' role is another text", kMatrix0, 'x', 1},
      {"matrix 'gate' role is another text", kMatrix0 + 15, 'x', 1},
      {"matrix 'gate' type is 255", kMatrix0 + 16, 255, 4},
      {"matrix 'gate' repacked is 2", kMatrix0 + 20, 2, 4},
      {"matrix 'gate' n_in is 0", kMatrix0 + 24, 0, 8},
      {"matrix 'gate' n_in is 18446744073709551615", kMatrix0 + 24, ~uint64_t{0}, 8},
      {"matrix 'gate' n_out is 41", kMatrix0 + 32, 41, 8},
      {"matrix 'gate' repack tag is 77", kMatrix0 + 40, 77, 8},
      {"matrix 'down' repacked is 1, expected 0, since this CPU has no repacked kernels",
       kClass1 + 8 + 2 * kMatrixBytes + 20, 1, 4},
      {"matrix 'down' repack tag is 5", kClass1 + 8 + 2 * kMatrixBytes + 40, 5, 8},
      {"layer 1 expert 0 offset is 0", kEntry0, 0, 8},
      {"layer 1 expert 0 offset is 18446744073709547520", kEntry0, ~uint64_t{4095}, 8},
      {"layer 1 expert 1 offset is 4097", kEntry0 + 24, 4097, 8},
      {"layer 1 expert 2 length is 0", kEntry0 + 2 * 24 + 8, 0, 8},
      {"layer 3 expert 4 length is 18446744073709551615", kEntriesEnd - 16, ~uint64_t{0}, 8},
      {"padding is 1", kEntriesEnd, 1, 1},
      {"padding is 1", 4095, 1, 1},
  };
  CHECK(table.size() >= 20);
  for (const Damage& damage : table) {
    std::string damaged = f.bytes;
    std::memcpy(damaged.data() + damage.offset, &damage.value, damage.width);
    REQUIRE(damaged != f.bytes);
    // Damage by accident is found in any case: by its field or by the checksum.
    const std::string by_accident = f.open(damaged);
    CAPTURE(by_accident);
    CHECK(has(by_accident, "rebuild the pack"));
    seal(damaged, header_bytes);
    const std::string error = f.open(damaged);
    CAPTURE(error);
    CAPTURE(damage.says);
    CHECK(has(error, damage.says));
    CHECK(has(error, (f.folder / "x.pack").string()));
    CHECK(has(error, "rebuild the pack"));
  }
  std::string sealed = f.bytes;
  seal(sealed, header_bytes);
  CHECK(sealed == f.bytes);
  CHECK(f.open(f.bytes) == "");
}

TEST_CASE("any flipped bit of the header is found") {
  const Fixture f;
  for (size_t bit = 0; bit < 8 * 4096; bit += bit < 8 * kEntriesEnd ? 1 : 61) {
    std::string header = f.bytes.substr(0, 4096);
    header[bit / 8] = static_cast<char>(header[bit / 8] ^ (1 << (bit % 8)));
    CAPTURE(bit);
    CHECK(has(error_of([&] {
                (void)parse_pack_header({reinterpret_cast<const std::byte*>(header.data()), 4096},
                                        f.bytes.size(), f.experts, "f");
              }),
              "rebuild the pack"));
  }
}

TEST_CASE("a pack cut anywhere, or longer than it should be, is refused") {
  const Fixture f;
  std::vector<size_t> lengths = {
      0, 1, 7, 8, 63, 64, 65, 4095, 4096, 4097, f.bytes.size() - 4096, f.bytes.size() - 1};
  for (size_t length = 100; length < f.bytes.size(); length += 7919) {
    lengths.push_back(length);
  }
  for (const size_t length : lengths) {
    CAPTURE(length);
    CHECK(has(f.open(f.bytes.substr(0, length)), "rebuild the pack"));
  }
  CHECK(has(f.open(f.bytes + "x"), "file_bytes is"));
  CHECK(has(f.open(f.bytes + std::string(4096, '\0')), "file_bytes is"));
}

TEST_CASE("damage in a record is found by verify and by verifying reads, and names the expert") {
  const Fixture f;
  const PackIndex index = make_pack_index(f.experts.layout);
  for (const ExpertId id : {ExpertId{1, 0}, ExpertId{2, 3}, ExpertId{3, 4}}) {
    std::string damaged = f.bytes;
    const size_t begin = index.offsets[index.entry(id)];
    const size_t at =
        begin + (static_cast<size_t>(id.layer) * 7777) % f.experts.layout.record_bytes(id);
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    REQUIRE(f.open(damaged) == "");
    const std::string name = "the record of layer " + std::to_string(id.layer) + " expert " +
                             std::to_string(id.expert) + " is damaged";
    const PackStore pack(f.folder / "x.pack", f.experts);
    CHECK(has(error_of([&] { pack.verify({}); }), "bad_file: " + (f.folder / "x.pack").string()));
    CHECK(has(error_of([&] { pack.verify({}); }), name));
    const PackStore verifying(f.folder / "x.pack", f.experts, /*verify_reads=*/true);
    CHECK(has(error_of([&] { read_record(verifying, id); }), name));
    CHECK(read_record(verifying, {2, 0}) == read_record(pack, {2, 0}));
  }
}

TEST_CASE("verify reports progress and can be cancelled") {
  const Fixture f;
  const PackStore pack(f.folder / "m.pack", f.experts);
  uint64_t last = 0;
  pack.verify([&](uint64_t done, uint64_t) { return (last = done, true); });
  CHECK(last == f.experts.layout.total_bytes());
  CHECK(has(error_of([&] { pack.verify([](uint64_t, uint64_t) { return false; }); }), "cancelled"));
}

TEST_CASE("a pack that shrinks while open gives read errors that name file and expert") {
  const Fixture f;
  const PackStore pack(f.folder / "m.pack", f.experts);
  std::filesystem::resize_file(f.folder / "m.pack", 8192);
  const std::string error = error_of([&] { read_record(pack, {3, 4}); });
  CHECK(has(error, "io: " + (f.folder / "m.pack").string() + ": the file ends at byte"));
  CHECK(has(error, "layer 3 expert 4"));
}

TEST_CASE("a pack of a model that was changed is refused") {
  const Fixture f;
  GgufBuilder other = store_model_builder();
  other.add_kv_u32("more", 1);
  other.write(f.folder / "other.gguf");
  const GgufExperts experts = open_experts(f.folder / "other.gguf");
  CHECK(has(error_of([&] { PackStore(f.folder / "m.pack", experts); }),
            "the pack was made from another file; rebuild the pack"));
}

TEST_CASE("a cancelled or failed writer leaves nothing, and an older pack as it was") {
  const Fixture f;
  const std::vector<std::string> before = names_in(f.folder.path());
  CHECK(error_of([&] {
          write_pack(f.experts, f.folder / "m.pack", WeightLayout::kPlain,
                     [](uint64_t, uint64_t) { return false; });
        }) == "cancelled: cancelled");
  CHECK(names_in(f.folder.path()) == before);
  CHECK(read_bytes(f.folder / "m.pack") == f.bytes);

  SUBCASE("the model vanishes") {
    std::filesystem::remove(f.folder / "m.gguf");
    CHECK(
        has(error_of([&] { write_pack(f.experts, f.folder / "n.pack", WeightLayout::kPlain, {}); }),
            "io: " + (f.folder / "m.gguf").string()));
  }
  SUBCASE("the model lies about where its experts are") {
    GgufExperts beyond = f.experts;
    beyond.places[3][2].offset += 1 << 20;
    CHECK(has(error_of([&] { write_pack(beyond, f.folder / "n.pack", WeightLayout::kPlain, {}); }),
              "(layer 3 expert "));
  }
  SUBCASE("the target is a folder") {
    std::filesystem::create_directory(f.folder / "n.pack");
    CHECK(
        has(error_of([&] { write_pack(f.experts, f.folder / "n.pack", WeightLayout::kPlain, {}); }),
            "cannot rename"));
    std::filesystem::remove(f.folder / "n.pack");
  }
  SUBCASE("the folder does not exist") {
    CHECK(has(
        error_of([&] { write_pack(f.experts, f.folder / "no/n.pack", WeightLayout::kPlain, {}); }),
        "io: " + (f.folder / "no").string()));
  }
  for (const std::string& name : names_in(f.folder.path())) {
    CHECK_FALSE(has(name, ".tmp-"));
    CHECK_FALSE(has(name, "n.pack"));
  }
}

TEST_CASE("a disk without room is noticed before anything is written") {
  const Fixture f;
  const uint64_t free_bytes = std::filesystem::space(f.folder.path()).available;
  GgufExperts huge = f.experts;
  huge.layout.classes[0].record_bytes = align_up(free_bytes, kPageBytes);
  const std::vector<std::string> before = names_in(f.folder.path());
  const std::string error =
      error_of([&] { write_pack(huge, f.folder / "n.pack", WeightLayout::kPlain, {}); });
  CHECK(has(error, "no_space: " + (f.folder / "n.pack").string() + ": the pack needs "));
  CHECK(names_in(f.folder.path()) == before);
}

TEST_CASE("a write that fails half-way leaves nothing") {
  const Fixture f;
  rlimit old;
  REQUIRE(getrlimit(RLIMIT_FSIZE, &old) == 0);
  const rlimit small{64 << 10, old.rlim_max};
  auto* handler = std::signal(SIGXFSZ, SIG_IGN);
  const std::vector<std::string> before = names_in(f.folder.path());
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  const std::string error =
      error_of([&] { write_pack(f.experts, f.folder / "n.pack", WeightLayout::kPlain, {}); });
  REQUIRE(setrlimit(RLIMIT_FSIZE, &old) == 0);
  std::signal(SIGXFSZ, handler);
  CHECK(has(error, "n.pack.tmp-"));
  CHECK(has(error, "File too large"));
  CHECK(names_in(f.folder.path()) == before);
}

TEST_CASE("leftovers of dead writers are removed, files of living ones are kept") {
  const Fixture f;
  GgufBuilder::write_bytes(f.folder / "m.pack.tmp-1-0", "left by a writer that died");
  GgufBuilder::write_bytes(f.folder / "m.pack.tmp-2-0", "being written");
  GgufBuilder::write_bytes(f.folder / "other.pack.tmp-1-0", "another pack's");
  const FileHandle living(open((f.folder / "m.pack.tmp-2-0").c_str(), O_RDONLY));
  REQUIRE(flock(living.get(), LOCK_EX | LOCK_NB) == 0);
  write_pack(f.experts, f.folder / "m.pack", WeightLayout::kRepacked, {});
  CHECK(names_in(f.folder.path()) ==
        std::vector<std::string>{"m.gguf", "m.pack", "m.pack.tmp-2-0", "other.pack.tmp-1-0"});
  CHECK(read_bytes(f.folder / "m.pack") == f.bytes);
}

}  // namespace runahead::test
