#include "store/gguf_experts.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace runahead {
namespace {

std::string text_of(const std::array<int64_t, 4>& ne) {
  return "[" + std::to_string(ne[0]) + ", " + std::to_string(ne[1]) + ", " + std::to_string(ne[2]) +
         ", " + std::to_string(ne[3]) + "]";
}

bool is_weight_type(ggml_type type) {
  return type == GGML_TYPE_F32 || type == GGML_TYPE_F16 || type == GGML_TYPE_BF16 ||
         ggml_is_quantized(type);
}

void check_tensor(const GgufFile& gguf, const TensorInfo& tensor, int32_t n_expert) {
  const std::string where = gguf.path().string() + ": tensor '" + tensor.name + "'";
  if (tensor.ne[2] != n_expert || tensor.ne[3] != 1 || tensor.ne[0] < 1 || tensor.ne[1] < 1) {
    throw Error(ErrorCode::kBadFile, where + " has shape " + text_of(tensor.ne) +
                                         ", expected [n_in, n_out, " + std::to_string(n_expert) +
                                         ", 1] for " + std::to_string(n_expert) + " experts");
  }
  if (!is_weight_type(tensor.type)) {
    throw Error(ErrorCode::kUnsupported, where + " has type " + ggml_type_name(tensor.type) +
                                             ", which is not a type of weights");
  }
  const int64_t block = ggml_blck_size(tensor.type);
  if (tensor.ne[0] % block != 0) {
    throw Error(ErrorCode::kBadFile, where + " has rows of " + std::to_string(tensor.ne[0]) +
                                         " values, not a multiple of the " + std::to_string(block) +
                                         " in a block of " + ggml_type_name(tensor.type));
  }
  const uint64_t expected = ggml_row_size(tensor.type, tensor.ne[0]) *
                            static_cast<uint64_t>(tensor.ne[1]) * static_cast<uint64_t>(n_expert);
  if (tensor.bytes != expected) {
    throw Error(ErrorCode::kBadFile, where + " has " + std::to_string(tensor.bytes) +
                                         " bytes, its shape needs " + std::to_string(expected));
  }
}

}  // namespace

GgufExperts find_experts(const GgufFile& gguf, int32_t n_layer, int32_t n_expert,
                         std::span<const ExpertRole> roles) {
  CHECK(n_layer >= 0 && n_expert > 0 && !roles.empty());
  GgufExperts found;
  found.files = gguf.files();
  found.fingerprint = gguf.fingerprint();
  found.layout.n_layer = n_layer;
  found.layout.n_expert = n_expert;
  found.layout.class_of_layer.assign(static_cast<size_t>(n_layer), -1);
  found.places.resize(static_cast<size_t>(n_layer));

  for (int32_t layer = 0; layer < n_layer; ++layer) {
    std::vector<ExpertMatrix> matrices;
    std::vector<MatrixPlace>& places = found.places[static_cast<size_t>(layer)];
    std::string missing;
    for (const ExpertRole& role : roles) {
      const std::string name = "blk." + std::to_string(layer) + "." + role.suffix + ".weight";
      const TensorInfo* tensor = gguf.find(name);
      if (tensor == nullptr) {
        missing = name;
        continue;
      }
      check_tensor(gguf, *tensor, n_expert);
      matrices.push_back(
          {role.role, tensor->type, tensor->ne[0], tensor->ne[1], 0, 0, /*repacked=*/false});
      places.push_back({tensor->file, tensor->offset});
    }
    if (matrices.empty()) {
      continue;
    }
    if (!missing.empty()) {
      throw Error(ErrorCode::kBadFile, gguf.path().string() + ": tensor '" + missing +
                                           "' is missing, although layer " + std::to_string(layer) +
                                           " has other expert tensors");
    }
    const SlotClass slot_class = make_slot_class(std::move(matrices));
    std::vector<SlotClass>& classes = found.layout.classes;
    const auto same = std::find(classes.begin(), classes.end(), slot_class);
    found.layout.class_of_layer[static_cast<size_t>(layer)] =
        static_cast<int32_t>(same - classes.begin());
    if (same == classes.end()) {
      classes.push_back(slot_class);
    }
  }
  return found;
}

}  // namespace runahead
