// store/pack.h
//
// The format of an expert pack, version 1. All integers are little-endian; the header is padded
// with zeros to a multiple of 4096; then come the records, in the order of the entries, each
// 4096-aligned.
//
//   0  char[8]  magic "RUNAPACK"
//   8  u32      version
//  12  u32      weight layout: 0 plain, 1 repacked
//  16  u64      header_bytes, padding included
//  24  u64      header checksum: XXH3 of the whole header with this field as 0
//  32  u64      file_bytes
//  40  u64      fingerprint of the GGUF
//  48  u32      n_layer
//  52  u32      n_expert
//  56  u32      n_class
//  60  u32      0
//      i32      class_of_layer[n_layer], padded to a multiple of 8
//      per class:  u32 n_matrix, u32 0; per matrix: char[16] role, u32 type, u32 repacked, u64
//      n_in, u64 n_out,
//                  u64 repack tag (0 when plain; names the CPU's repacked form)
//      per expert of a layer that has any, by layer and expert:  u64 offset, u64 length, u64
//      checksum
//
// A pack is only ever read together with its GGUF, whose layout says what the header must hold, so
// a reader compares and trusts nothing.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "store/gguf_experts.h"
#include "store/layout.h"

namespace runahead {

constexpr uint32_t kPackVersion = 1;
constexpr size_t kPackChecksumOffset = 24;

// Where the records lie; checksums are filled in by the writer, or come from the file.
struct PackIndex {
  StoreLayout layout;             // repacked flags as in the pack
  std::vector<size_t> first;      // [n_layer]: index of the layer's expert 0 in the vectors below
  std::vector<uint64_t> offsets;  // [expert entry]
  std::vector<uint64_t> checksums;
  uint64_t header_bytes = 0;
  uint64_t file_bytes = 0;

  [[nodiscard]] size_t entry(ExpertId id) const {
    return first[static_cast<size_t>(id.layer)] + static_cast<size_t>(id.expert);
  }
};

// The places of all records for this layout; checksums are 0.
[[nodiscard]] PackIndex make_pack_index(const StoreLayout& layout);

[[nodiscard]] std::vector<std::byte> serialize_pack_header(const PackIndex& index,
                                                           uint64_t fingerprint);

// Bytes of the header of a pack of these experts, in whatever weight layout.
[[nodiscard]] uint64_t pack_header_bytes(const StoreLayout& layout);

// Checks every field of a header against the model and this CPU. `header` may be shorter than a
// header should be. Throws Error(kBadFile or kUnsupported) naming `file`, the field, its value, and
// that the pack should be rebuilt.
[[nodiscard]] PackIndex parse_pack_header(std::span<const std::byte> header, uint64_t file_bytes,
                                          const GgufExperts& experts, const std::string& file);

}  // namespace runahead
