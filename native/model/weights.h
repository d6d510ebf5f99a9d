// model/weights.h
//
// Weights holds what always stays in the device's memory: embedding, norms, attention, routers, LM
// head. Experts are not among it; they live in slots. Matrices go to the repacked buffer type where
// it has kernels for them.

#pragma once

#include <ggml-cpp.h>
#include <ggml.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/gguf_file.h"
#include "model/device.h"

namespace runahead {

// One tensor a family wants. Layer tensors are named by layer_name(). Vectors are F32.
struct TensorSpec {
  std::string name;
  std::vector<int64_t> ne;
  bool required = true;
  bool matrix = false;  // used in products only, so it may be repacked
  bool f32 = false;     // like a vector, although it has rows
};

// Whether products and look-ups have kernels for weights of this type.
[[nodiscard]] bool is_weight_type(ggml_type type);

// The tensor `name` as `spec` wants it; nullptr when it is absent and need not be there. Throws
// Error naming the file, the tensor and what is wrong with it.
[[nodiscard]] const TensorInfo* find_weight(const GgufFile& file, const std::string& name,
                                            const TensorSpec& spec);

// "blk.<il>.<name>".
[[nodiscard]] std::string layer_name(size_t il, const std::string& name);

// The tensors of the whole model or of one layer, by name. Layers of one kind have the same names
// at the same places.
class NamedTensors {
 public:
  void add(std::string name, ggml_tensor* tensor);
  // -1: not there.
  [[nodiscard]] int32_t find(std::string_view name) const;
  [[nodiscard]] ggml_tensor* operator[](int32_t index) const {
    return tensors_[static_cast<size_t>(index)];
  }

 private:
  std::vector<std::string> names_;
  std::vector<ggml_tensor*> tensors_;  // nullptr: absent from the file
};

// Reported while loading: (bytes done, of how many) -> go on?
using LoadProgress = std::function<bool(uint64_t, uint64_t)>;

class Weights {
 public:
  // variants: per layer a number that is equal for layers whose hyper-parameters are.
  Weights(const GgufFile& file, Device& device, const std::vector<TensorSpec>& model_specs,
          const std::vector<std::vector<TensorSpec>>& layer_specs,
          const std::vector<int32_t>& variants, const LoadProgress& progress);

  [[nodiscard]] const NamedTensors& model() const { return model_; }
  [[nodiscard]] const NamedTensors& layer(int32_t il) const {
    return layers_[static_cast<size_t>(il)];
  }
  // Layers with equal kinds are of one variant and have weights of the same shapes, types and
  // buffer types: one graph serves them all.
  [[nodiscard]] int32_t layer_kind(int32_t il) const { return kinds_[static_cast<size_t>(il)]; }
  [[nodiscard]] uint64_t bytes() const { return bytes_; }

 private:
  ggml_context_ptr plain_ctx_;
  ggml_context_ptr repacked_ctx_;
  ggml_backend_buffer_ptr plain_buffer_;
  ggml_backend_buffer_ptr repacked_buffer_;
  NamedTensors model_;
  std::vector<NamedTensors> layers_;
  std::vector<int32_t> kinds_;
  uint64_t bytes_ = 0;
};

}  // namespace runahead
