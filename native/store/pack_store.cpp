#include "store/pack_store.h"

#include <algorithm>
#include <memory>
#include <string>

#include "base/align.h"
#include "base/error.h"
#include "base/reserved_memory.h"
#include "store/checksum.h"

namespace runahead {
namespace {

PackIndex read_index(const DirectFile& file, const GgufExperts& experts) {
  const uint64_t bytes = std::min(file.size(), pack_header_bytes(experts.layout));
  const ReservedMemory header(align_up(bytes, kPageBytes));
  if (bytes > 0) {
    file.read(0, {header.data(), header.size()}, bytes);
  }
  return parse_pack_header({header.data(), bytes}, file.size(), experts, file.path().string());
}

}  // namespace

PackStore::PackStore(const std::filesystem::path& path, const GgufExperts& experts,
                     bool verify_reads)
    : file_(path), index_(read_index(file_, experts)), verify_reads_(verify_reads) {}

void PackStore::read(ExpertId id, uint64_t offset, std::span<std::byte> destination) const {
  const uint64_t record_bytes = index_.layout.record_bytes(id);
  CHECK(offset + destination.size() <= record_bytes);
  try {
    file_.read(index_.offsets[index_.entry(id)] + offset, destination);
  } catch (const Error& error) {
    throw Error(error.code(), std::string(error.what()) + " (" + text_of(id) + ")");
  }
  if (verify_reads_ && destination.size() == record_bytes) {
    check_record(id, destination);
  }
}

void PackStore::check_record(ExpertId id, std::span<const std::byte> record) const {
  const uint64_t expected = index_.checksums[index_.entry(id)];
  const uint64_t actual = checksum(record);
  if (actual != expected) {
    throw Error(ErrorCode::kBadFile, file_.path().string() + ": the record of " + text_of(id) +
                                         " is damaged (checksum " + std::to_string(actual) +
                                         ", expected " + std::to_string(expected) +
                                         "); rebuild the pack");
  }
}

void PackStore::verify(const StoreProgress& progress) const {
  uint64_t largest = 0;
  for (const SlotClass& slot_class : index_.layout.classes) {
    largest = std::max(largest, slot_class.record_bytes);
  }
  const auto make_worker = [&]() -> ExpertWork {
    const auto buffer = std::make_shared<ReservedMemory>(largest);
    return [this, buffer](ExpertId id) {
      const std::span<std::byte> record(buffer->data(), index_.layout.record_bytes(id));
      read(id, 0, record);
      if (!verify_reads_) {
        check_record(id, record);
      }
    };
  };
  for_each_expert(index_.layout, default_store_threads(), make_worker, progress);
}

}  // namespace runahead
