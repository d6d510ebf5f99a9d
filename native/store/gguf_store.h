// store/gguf_store.h
//
// GgufStore reads experts where they lie in the GGUF: no disk space more, but one read per matrix
// at odd offsets, so each passes through a bounce buffer of the reader thread. The layout is plain.

#pragma once

#include <vector>

#include "store/direct_file.h"
#include "store/expert_store.h"
#include "store/gguf_experts.h"

namespace runahead {

class GgufStore final : public ExpertStore {
 public:
  // Throws Error(kIo) naming the file that cannot be opened, Error(kBadFile) when its size has
  // changed.
  explicit GgufStore(GgufExperts experts);

  [[nodiscard]] const StoreLayout& layout() const override { return experts_.layout; }
  void read(ExpertId id, uint64_t offset, std::span<std::byte> destination) const override;

  // Reads one whole matrix. REQUIRES: destination has its size.
  void read_matrix(ExpertId id, size_t matrix, std::span<std::byte> destination) const;

 private:
  // Bytes of one matrix from `offset` in it.
  void read_bytes(ExpertId id, size_t matrix, uint64_t offset,
                  std::span<std::byte> destination) const;

  GgufExperts experts_;
  std::vector<DirectFile> files_;  // parallel to experts_.files
};

}  // namespace runahead
