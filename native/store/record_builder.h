// store/record_builder.h
//
// RecordBuilder makes the record of an expert out of the GGUF: reads its matrices, repacks those
// that the target layout wants repacked, zeroes the padding. Used by one thread at a time; the
// store may be shared.

#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "store/gguf_store.h"
#include "store/repack.h"

namespace runahead {

class RecordBuilder {
 public:
  // `target`: the layout of `source`, some matrices repacked. Both outlive the builder.
  RecordBuilder(const GgufStore& source, const StoreLayout& target);

  // REQUIRES: record has the expert's record_bytes and is 4096-aligned.
  void build(ExpertId id, std::span<std::byte> record);

 private:
  const GgufStore& source_;
  const StoreLayout& target_;
  std::vector<std::vector<std::unique_ptr<Repacker>>>
      repackers_;  // [class][matrix]; nullptr: stays plain
  std::vector<std::byte> plain_;
};

}  // namespace runahead
