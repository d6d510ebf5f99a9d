// store/expert_store.h
//
// ExpertStore gives the bytes of any expert's record. Three kinds: PackStore (one aligned record
// per expert, direct I/O), GgufStore (in place, one read per matrix), HostStore (all experts in
// memory).
//
// read() is called from several reader threads at once; everything else is constant after opening.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/ids.h"
#include "store/layout.h"

namespace runahead {

// "layer 3 expert 17", for messages.
inline std::string text_of(ExpertId id) {
  return "layer " + std::to_string(id.layer) + " expert " + std::to_string(id.expert);
}

class ExpertStore {
 public:
  virtual ~ExpertStore() = default;

  [[nodiscard]] virtual const StoreLayout& layout() const = 0;

  // Reads record bytes [offset, offset + destination.size()) of `id`.
  // REQUIRES: offset, size and destination.data() are multiples of 4096; the range is in the
  // record. Throws Error(kIo) naming the file, the expert and the reason; Error(kBadFile) on a
  // wrong checksum.
  virtual void read(ExpertId id, uint64_t offset, std::span<std::byte> destination) const = 0;

  // True when a record may be read in several parts by several readers (checksums need it whole).
  [[nodiscard]] virtual bool can_split() const { return true; }
};

}  // namespace runahead
