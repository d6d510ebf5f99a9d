// store/layout.h
//
// How expert bytes lie in a record, on disk and in a slot alike: the matrices of one expert one
// after the other, each at a 4096-aligned offset, the whole a multiple of 4096. Since a slot holds
// exactly one record, a fetch is one contiguous direct read, and the pool tensor of a matrix is a
// strided view over the slots (stride = record_bytes).

#pragma once

#include <ggml.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"

namespace runahead {

// Whether the weights are as in the GGUF or already interleaved for this CPU's repacked kernels.
enum class WeightLayout : uint8_t { kPlain = 0, kRepacked = 1 };

// One matrix of an expert. GGUF names: gate = ffn_gate_exps, up = ffn_up_exps, down =
// ffn_down_exps.
struct ExpertMatrix {
  std::string role;  // "gate", "up", "down"
  ggml_type type;    // as in the GGUF
  int64_t n_in;      // ne[0], input features
  int64_t n_out;     // ne[1], output features
  uint64_t bytes;    // ggml_row_size(type, n_in) * n_out
  uint64_t offset;   // in the record, 4096-aligned
  bool repacked;     // these bytes are in the repacked form
  bool operator==(const ExpertMatrix&) const = default;
};

// Experts of the same shapes and types: they can take each other's slots.
struct SlotClass {
  std::vector<ExpertMatrix> matrices;
  uint64_t record_bytes = 0;  // multiple of 4096
  bool operator==(const SlotClass&) const = default;
};

// Fills in `bytes` and `offset` of matrices whose role, type, n_in and n_out are known.
// REQUIRES: n_in is a multiple of the type's block.
[[nodiscard]] SlotClass make_slot_class(std::vector<ExpertMatrix> matrices);

struct StoreLayout {
  int32_t n_layer = 0;                  // layers of the model
  int32_t n_expert = 0;                 // experts of a MoE layer
  std::vector<int32_t> class_of_layer;  // [n_layer]; -1: a layer without experts
  std::vector<SlotClass> classes;
  WeightLayout weights = WeightLayout::kPlain;

  [[nodiscard]] const SlotClass& class_of(int32_t layer) const {
    return classes[static_cast<size_t>(class_of_layer[static_cast<size_t>(layer)])];
  }
  [[nodiscard]] uint64_t record_bytes(ExpertId id) const { return class_of(id.layer).record_bytes; }
  // Experts in class `c` over all layers.
  [[nodiscard]] int64_t n_experts_in(int32_t c) const;
  // Bytes of all experts.
  [[nodiscard]] uint64_t total_bytes() const;
};

}  // namespace runahead
