// PackStore, GgufStore and HostStore give the same bytes; FaultyStore fails as its seed says.

#include "store/faulty_store.h"
#include "store/gguf_store.h"
#include "store/host_store.h"
#include "store/pack_store.h"
#include "store/pack_writer.h"
#include "store/repack.h"
#include "store_errors.h"
#include "store_model.h"

namespace runahead::test {
namespace {

// Reading in pieces of every size gives the bytes of the whole.
void check_parts(const ExpertStore& store, ExpertId id, const std::string& whole) {
  const ReservedMemory memory(whole.size());
  for (size_t part = kPageBytes; part < whole.size(); part += kPageBytes) {
    std::memset(memory.data(), 0xee, whole.size());
    for (size_t at = 0; at < whole.size(); at += part) {
      store.read(id, at, {memory.data() + at, std::min(part, whole.size() - at)});
    }
    CHECK(std::memcmp(memory.data(), whole.data(), whole.size()) == 0);
  }
}

}  // namespace

TEST_CASE(
    "all stores give the bytes of the GGUF, with zeros between the matrices, whole or in parts") {
  const GgufFolder folder;
  store_model_builder().write(folder / "m.gguf");
  const GgufExperts experts = open_experts(folder / "m.gguf");
  write_pack(experts, folder / "m.pack", WeightLayout::kPlain, {});

  const GgufStore gguf(experts);
  const HostStore host(experts, WeightLayout::kPlain, {});
  const PackStore pack(folder / "m.pack", experts);
  const PackStore verifying(folder / "m.pack", experts, /*verify_reads=*/true);
  CHECK(pack.can_split());
  CHECK_FALSE(verifying.can_split());
  CHECK(pack.layout().weights == WeightLayout::kPlain);
  for (const ExpertId id : all_experts(experts.layout)) {
    const std::string expected = expected_record(experts, id);
    CHECK(read_record(verifying, id) == expected);
    for (const ExpertStore* store :
         {static_cast<const ExpertStore*>(&gguf), static_cast<const ExpertStore*>(&host),
          static_cast<const ExpertStore*>(&pack)}) {
      CHECK(read_record(*store, id) == expected);
      check_parts(*store, id, expected);
    }
  }
  pack.verify({});
}

TEST_CASE("experts of a split model are read from their shards") {
  const GgufFolder folder;
  GgufBuilder whole = store_model_builder();
  GgufBuilder first;
  GgufBuilder second;
  first.add_kv_string("general.architecture", "test");
  const auto n = static_cast<int32_t>(whole.tensors.size());
  first.add_split(0, 2, n);
  second.add_split(1, 2, n);
  for (int32_t i = 0; i < n; ++i) {
    (i < n / 2 ? first : second).tensors.push_back(whole.tensors[static_cast<size_t>(i)]);
  }
  first.write(folder / GgufBuilder::shard_name("m", 0, 2));
  second.write(folder / GgufBuilder::shard_name("m", 1, 2));
  const GgufExperts experts = open_experts(folder / GgufBuilder::shard_name("m", 0, 2));
  REQUIRE(experts.files.size() == 2);

  const GgufStore store(experts);
  for (const ExpertId id : all_experts(experts.layout)) {
    CHECK(read_record(store, id) == expected_record(experts, id));
  }
}

TEST_CASE("a repacked pack holds what repacking in memory gives, and names what it repacked") {
  const GgufFolder folder;
  store_model_builder().write(folder / "m.gguf");
  const GgufExperts experts = open_experts(folder / "m.gguf");
  const WrittenPack written = write_pack(experts, folder / "m.pack", WeightLayout::kRepacked, {});
  CHECK(written.n_experts == 15);
  CHECK(written.bytes == std::filesystem::file_size(folder / "m.pack"));

  const PackStore pack(folder / "m.pack", experts, /*verify_reads=*/true);
  const HostStore host(experts, WeightLayout::kRepacked, {});
  CHECK(pack.layout().weights == written.weights);
  CHECK(pack.layout().classes == repacked_layout(experts.layout).classes);
  CHECK(host.layout().classes == pack.layout().classes);
  for (const ExpertId id : all_experts(experts.layout)) {
    const std::string record = read_record(pack, id);
    CHECK(record == read_record(host, id));
    CHECK(record.size() == host.record(id).size());
    for (const ExpertMatrix& matrix : pack.layout().class_of(id.layer).matrices) {
      const bool differs = record.substr(matrix.offset, matrix.bytes) !=
                           expected_record(experts, id).substr(matrix.offset, matrix.bytes);
      CHECK(differs == matrix.repacked);
    }
  }
}

TEST_CASE("a model file that changed since it was opened is not read") {
  const GgufFolder folder;
  store_model_builder().write(folder / "m.gguf");
  const GgufExperts experts = open_experts(folder / "m.gguf");
  std::filesystem::resize_file(folder / "m.gguf", 1000);
  CHECK(has(error_of([&] { GgufStore store(experts); }),
            "bad_file: " + (folder / "m.gguf").string()));
}

TEST_CASE("loading into memory can be cancelled, and reports every byte") {
  const GgufFolder folder;
  store_model_builder().write(folder / "m.gguf");
  const GgufExperts experts = open_experts(folder / "m.gguf");
  CHECK(error_of([&] {
          HostStore(experts, WeightLayout::kPlain, [](uint64_t, uint64_t) { return false; });
        }) == "cancelled: cancelled");
  uint64_t last = 0;
  HostStore(experts, WeightLayout::kPlain, [&](uint64_t done, uint64_t total) {
    CHECK(done >= last);
    CHECK(total == experts.layout.total_bytes());
    last = done;
    return true;
  });
  CHECK(last == experts.layout.total_bytes());
}

TEST_CASE("an exception of the progress function ends the work and comes through") {
  const GgufFolder folder;
  store_model_builder().write(folder / "m.gguf");
  const GgufExperts experts = open_experts(folder / "m.gguf");
  CHECK_THROWS_AS(HostStore(experts, WeightLayout::kPlain,
                            [](uint64_t, uint64_t) -> bool { throw std::runtime_error("no"); }),
                  std::runtime_error);
}

TEST_CASE("FaultyStore repeats itself by seed, and its good reads are whole") {
  const GgufFolder folder;
  store_model_builder().write(folder / "m.gguf");
  const GgufExperts experts = open_experts(folder / "m.gguf");
  const HostStore host(experts, WeightLayout::kPlain, {});
  const FaultRates rates{.errors = 200, .short_reads = 200, .delays = 100, .max_delay_us = 10};

  const auto play = [&](uint64_t seed) {
    const FaultyStore faulty(host, seed, rates);
    std::string outcome;
    for (int round = 0; round < 20; ++round) {
      for (const ExpertId id : all_experts(experts.layout)) {
        std::string record;
        const std::string error = error_of([&] { record = read_record(faulty, id); });
        if (error.empty()) {
          CHECK(record == read_record(host, id));
          outcome += '.';
        } else {
          CHECK(has(error, "io: simulated fault at layer " + std::to_string(id.layer)));
          outcome += has(error, "ends after") ? 's' : 'e';
        }
      }
    }
    return outcome;
  };
  const std::string first = play(1);
  CHECK(first == play(1));
  CHECK(first != play(2));
  for (const char kind : {'.', 's', 'e'}) {
    CHECK(first.find(kind) != std::string::npos);
  }
}

}  // namespace runahead::test
