// store/pack_store.h: PackStore reads experts from an expert pack, one aligned direct read per
// record.

#pragma once

#include <filesystem>

#include "store/direct_file.h"
#include "store/expert_loop.h"
#include "store/expert_store.h"
#include "store/pack.h"

namespace runahead {

class PackStore final : public ExpertStore {
 public:
  // Checks the header against the model `experts` comes from, and the size of the file. With
  // `verify_reads` every read checks its record. Throws Error(kIo) when the file cannot be read,
  // Error(kBadFile or kUnsupported) when it is not a whole pack of this model for this CPU; the
  // text says what is wrong.
  PackStore(const std::filesystem::path& path, const GgufExperts& experts,
            bool verify_reads = false);

  [[nodiscard]] const StoreLayout& layout() const override { return index_.layout; }
  void read(ExpertId id, uint64_t offset, std::span<std::byte> destination) const override;
  [[nodiscard]] bool can_split() const override { return !verify_reads_; }

  // Reads every record and checks it. Throws Error(kBadFile) naming the first damaged one,
  // Error(kCancelled).
  void verify(const StoreProgress& progress) const;

 private:
  void check_record(ExpertId id, std::span<const std::byte> record) const;

  DirectFile file_;
  PackIndex index_;
  bool verify_reads_;
};

}  // namespace runahead
