#include "store/host_store.h"

#include <cstring>
#include <memory>

#include "base/error.h"
#include "store/record_builder.h"

namespace runahead {

HostStore::HostStore(const GgufExperts& experts, WeightLayout wanted, const StoreProgress& progress)
    : index_(make_pack_index(wanted == WeightLayout::kRepacked ? repacked_layout(experts.layout)
                                                               : experts.layout)),
      memory_(index_.file_bytes - index_.header_bytes) {
  const GgufStore source(experts);
  const auto make_worker = [&]() -> ExpertWork {
    const auto builder = std::make_shared<RecordBuilder>(source, index_.layout);
    return [this, builder](ExpertId id) {
      std::byte* begin = memory_.data() + (index_.offsets[index_.entry(id)] - index_.header_bytes);
      builder->build(id, {begin, index_.layout.record_bytes(id)});
    };
  };
  for_each_expert(index_.layout, default_store_threads(), make_worker, progress);
}

std::span<const std::byte> HostStore::record(ExpertId id) const {
  const uint64_t begin = index_.offsets[index_.entry(id)] - index_.header_bytes;
  return {memory_.data() + begin, index_.layout.record_bytes(id)};
}

void HostStore::read(ExpertId id, uint64_t offset, std::span<std::byte> destination) const {
  const std::span<const std::byte> from = record(id);
  CHECK(offset + destination.size() <= from.size());
  std::memcpy(destination.data(), from.data() + offset, destination.size());
}

}  // namespace runahead
