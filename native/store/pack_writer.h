// store/pack_writer.h: writes the expert pack of a model. The target appears whole or not at all.

#pragma once

#include <cstdint>
#include <filesystem>

#include "store/expert_loop.h"
#include "store/gguf_experts.h"

namespace runahead {

struct WrittenPack {
  uint64_t bytes = 0;
  int64_t n_experts = 0;
  WeightLayout weights =
      WeightLayout::kPlain;  // plain although repacked was asked for: nothing can be repacked
};

// Writes a temporary file beside `target`, makes it durable and renames it. Whatever goes wrong,
// only temporary files of writers that died are left, and those the next writer removes. Blocks;
// `progress` is called on this thread. Throws Error(kNoSpace) before writing when the disk has too
// little room, Error(kIo, kNoSpace) when reading or writing fails, Error(kCancelled).
WrittenPack write_pack(const GgufExperts& experts, const std::filesystem::path& target,
                       WeightLayout wanted, const StoreProgress& progress);

}  // namespace runahead
