// store/faulty_store.h
//
// FaultyStore wraps a store and, by seed, makes some reads fail, end early or come late: what a
// dying or overloaded disk does. What happens to the n-th read of an expert depends on the seed
// alone, not on timing.

#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "store/expert_store.h"

namespace runahead {

struct FaultRates {           // each in 1/1000 of reads
  uint32_t errors = 20;       // nothing is read: Error(kIo)
  uint32_t short_reads = 20;  // the first pages arrive, then Error(kIo)
  uint32_t delays = 50;       // the read succeeds late
  uint32_t max_delay_us = 2000;
};

class FaultyStore final : public ExpertStore {
 public:
  // `store` outlives this.
  FaultyStore(const ExpertStore& store, uint64_t seed, FaultRates rates = {});

  [[nodiscard]] const StoreLayout& layout() const override { return store_.layout(); }
  void read(ExpertId id, uint64_t offset, std::span<std::byte> destination) const override;
  [[nodiscard]] bool can_split() const override { return store_.can_split(); }

 private:
  const ExpertStore& store_;
  uint64_t seed_;
  FaultRates rates_;
  mutable std::vector<std::atomic<uint32_t>> n_reads_;  // [layer * n_expert + expert]
};

}  // namespace runahead
