// store/gguf_experts.h
//
// GgufExperts says which experts a GGUF holds, how their records look, and where each matrix lies
// in the file. It is all that the stores and the pack writer need to know of a model; it is
// constant once made.

#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "gguf/gguf_file.h"
#include "store/layout.h"

namespace runahead {

// A matrix of each expert: {"gate", "ffn_gate_exps"} is the tensor blk.<layer>.ffn_gate_exps.weight
// with ne = [n_in, n_out, n_expert].
struct ExpertRole {
  std::string role;
  std::string suffix;
};

// Where one matrix of a layer's experts lies: expert e's bytes begin at offset + e * bytes.
struct MatrixPlace {
  int32_t file = 0;     // index into GgufExperts::files
  uint64_t offset = 0;  // absolute, of expert 0
};

struct GgufExperts {
  std::vector<GgufSource> files;
  uint64_t fingerprint = 0;  // of the GGUF
  StoreLayout layout;        // plain
  std::vector<std::vector<MatrixPlace>>
      places;  // [n_layer][matrix]; empty for a layer without experts
};

// Layers that have none of the tensors get class -1; layers whose matrices have equal types and
// shapes share a class. Throws Error(kBadFile or kUnsupported) naming the file, the tensor and what
// is wrong with it.
[[nodiscard]] GgufExperts find_experts(const GgufFile& gguf, int32_t n_layer, int32_t n_expert,
                                       std::span<const ExpertRole> roles);

}  // namespace runahead
