// store_model.h
//
// A small model for the tests of store and fetch: layer 0 is dense, layers 1 and 3 share a slot
// class, layer 2 has another. No matrix ends on a page, and none begins on one in the file.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/align.h"
#include "base/reserved_memory.h"
#include "gguf_builder.h"
#include "gguf_folder.h"
#include "store/expert_store.h"
#include "store/gguf_experts.h"

namespace runahead::test {

// ggml says on its debug level what it repacks, matrix by matrix.
inline const bool kDebugLogIsOff = [] {
  ggml_log_set(
      [](ggml_log_level level, const char* text, void*) {
        if (level != GGML_LOG_LEVEL_DEBUG) {
          std::fputs(text, stderr);
        }
      },
      nullptr);
  return true;
}();

constexpr int32_t kStoreLayers = 4;
constexpr int32_t kStoreExperts = 5;
inline const std::vector<ExpertRole> kStoreRoles = {
    {"gate", "ffn_gate_exps"}, {"up", "ffn_up_exps"}, {"down", "ffn_down_exps"}};

// Values that every type can hold, quantised; the same for the same seed.
inline std::string quantized(ggml_type type, const std::vector<int64_t>& ne, uint32_t seed) {
  std::vector<float> values(static_cast<size_t>(ne[0] * ne[1] * ne[2]));
  uint32_t state = seed * 2654435761u + 1;
  for (float& value : values) {
    state = state * 1664525 + 1013904223;
    value = static_cast<float>(state >> 8) / static_cast<float>(1 << 24) - 0.5f;
  }
  const int64_t n_rows = ne[1] * ne[2];
  std::string bytes(ggml_row_size(type, ne[0]) * static_cast<size_t>(n_rows), '\0');
  if (type == GGML_TYPE_F32) {
    std::memcpy(bytes.data(), values.data(), bytes.size());
  } else {
    ggml_quantize_chunk(type, values.data(), bytes.data(), 0, n_rows, ne[0], nullptr);
  }
  return bytes;
}

inline GgufBuilder store_model_builder() {
  GgufBuilder builder;
  builder.add_kv_string("general.architecture", "test");
  builder.add_tensor("token_embd.weight", GGML_TYPE_F32, {3, 3});
  builder.add_tensor("blk.0.ffn_up.weight", GGML_TYPE_F32, {5, 7});
  uint32_t seed = 0;
  for (const int32_t layer : {1, 2, 3}) {
    const std::string prefix = "blk." + std::to_string(layer) + ".";
    const auto add = [&](const std::string& suffix, ggml_type type, std::vector<int64_t> ne) {
      builder.add_tensor(prefix + suffix + ".weight", type, ne, quantized(type, ne, ++seed));
    };
    add("ffn_gate_exps", GGML_TYPE_Q4_0, {256, 40, kStoreExperts});
    add("ffn_up_exps", GGML_TYPE_Q4_K, {256, 40, kStoreExperts});
    add("ffn_down_exps", layer == 2 ? GGML_TYPE_F32 : GGML_TYPE_Q8_0, {64, 24, kStoreExperts});
  }
  return builder;
}

inline GgufExperts open_experts(const std::filesystem::path& path) {
  return find_experts(GgufFile::open(path), kStoreLayers, kStoreExperts, kStoreRoles);
}

inline std::vector<ExpertId> all_experts(const StoreLayout& layout) {
  std::vector<ExpertId> ids;
  for (int32_t layer = 0; layer < layout.n_layer; ++layer) {
    for (int32_t e = 0;
         layout.class_of_layer[static_cast<size_t>(layer)] >= 0 && e < layout.n_expert; ++e) {
      ids.push_back({layer, e});
    }
  }
  return ids;
}

inline std::string read_record(const ExpertStore& store, ExpertId id) {
  const size_t bytes = store.layout().record_bytes(id);
  const ReservedMemory memory(bytes);
  std::memset(memory.data(), 0xee, bytes);
  store.read(id, 0, {memory.data(), bytes});
  return {reinterpret_cast<const char*>(memory.data()), bytes};
}

inline std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The record as the format says, taken from the bytes of the GGUF itself.
inline std::string expected_record(const GgufExperts& experts, ExpertId id) {
  const SlotClass& slot_class = experts.layout.class_of(id.layer);
  std::string record(slot_class.record_bytes, '\0');
  for (size_t i = 0; i < slot_class.matrices.size(); ++i) {
    const ExpertMatrix& matrix = slot_class.matrices[i];
    const MatrixPlace& place = experts.places[static_cast<size_t>(id.layer)][i];
    const std::string file = read_bytes(experts.files[static_cast<size_t>(place.file)].path);
    file.copy(record.data() + matrix.offset, matrix.bytes,
              place.offset + static_cast<uint64_t>(id.expert) * matrix.bytes);
  }
  return record;
}

inline std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace runahead::test
