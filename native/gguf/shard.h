// gguf/shard.h
//
// A GgufShard is one GGUF file by itself: its metadata and its tensor table, both checked. It is a
// whole model or one part of a split one; what its split.* keys say is GgufFile's business.

#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "gguf/gguf_file.h"
#include "gguf/metadata.h"

namespace runahead {

struct GgufShard {
  GgufSource source;
  Metadata metadata;
  std::vector<TensorInfo> tensors;  // in file order; TensorInfo::file is 0
  uint64_t hash = 0;                // of the size and all bytes up to the end of the tensor table

  // Throws Error(kBadFile, kIo or kUnsupported), see GgufFile::open.
  static GgufShard open(const std::filesystem::path& path);
};

}  // namespace runahead
