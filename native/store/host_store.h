// store/host_store.h: HostStore keeps the records of all experts in memory: for discrete GPUs, and
// for models that fit. Reading is a copy.

#pragma once

#include "base/reserved_memory.h"
#include "store/expert_loop.h"
#include "store/expert_store.h"
#include "store/gguf_experts.h"
#include "store/pack.h"

namespace runahead {

class HostStore final : public ExpertStore {
 public:
  // Reads everything, repacked for this CPU if `wanted`. Throws Error(kNoMemory, kIo, kBadFile,
  // kCancelled).
  HostStore(const GgufExperts& experts, WeightLayout wanted, const StoreProgress& progress);

  [[nodiscard]] const StoreLayout& layout() const override { return index_.layout; }
  void read(ExpertId id, uint64_t offset, std::span<std::byte> destination) const override;

  // The record itself, where a copy is not needed.
  [[nodiscard]] std::span<const std::byte> record(ExpertId id) const;

 private:
  PackIndex index_;  // places as in a pack, less the header
  ReservedMemory memory_;
};

}  // namespace runahead
