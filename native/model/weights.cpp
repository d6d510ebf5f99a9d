#include "model/weights.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "store/repack.h"

namespace runahead {
namespace {

constexpr uint64_t kReadBytes = uint64_t{16} << 20;

std::string shape_text(const int64_t* ne, size_t n) {
  std::string text = "[";
  for (size_t i = 0; i < n; ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(ne[i]);
  }
  return text + "]";
}

void check_shape(const GgufFile& file, const TensorInfo& info, const TensorSpec& spec) {
  bool same = true;
  for (size_t i = 0; i < info.ne.size(); ++i) {
    same = same && info.ne[i] == (i < spec.ne.size() ? spec.ne[i] : 1);
  }
  if (!same) {
    throw Error(ErrorCode::kBadFile,
                file.path().string() + ": tensor '" + info.name + "' has shape " +
                    shape_text(info.ne.data(), info.ne.size()) + ", expected " +
                    shape_text(spec.ne.data(), spec.ne.size()));
  }
}

void check_type(const GgufFile& file, const TensorInfo& info, const TensorSpec& spec) {
  const bool vector = spec.ne.size() == 1 || spec.f32;
  if (vector ? info.type != GGML_TYPE_F32 : !is_weight_type(info.type)) {
    throw Error(ErrorCode::kUnsupported,
                file.path().string() + ": tensor '" + info.name + "' has type " +
                    ggml_type_name(info.type) +
                    (vector ? ", expected f32" : ", which is not a type of weights"));
  }
}

ggml_context_ptr make_context(size_t n_tensors) {
  return ggml_context_ptr(ggml_init({ggml_tensor_overhead() * (n_tensors + 1), nullptr, true}));
}

}  // namespace

bool is_weight_type(ggml_type type) {
  return type == GGML_TYPE_F32 || ggml_get_type_traits(type)->to_float != nullptr;
}

const TensorInfo* find_weight(const GgufFile& file, const std::string& name,
                              const TensorSpec& spec) {
  const TensorInfo* info = spec.required ? &file.require(name) : file.find(name);
  if (info != nullptr) {
    check_shape(file, *info, spec);
    check_type(file, *info, spec);
  }
  return info;
}

std::string layer_name(size_t il, const std::string& name) {
  return "blk." + std::to_string(il) + "." + name;
}

void NamedTensors::add(std::string name, ggml_tensor* tensor) {
  names_.push_back(std::move(name));
  tensors_.push_back(tensor);
}

int32_t NamedTensors::find(std::string_view name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  const auto index = static_cast<size_t>(found - names_.begin());
  return found == names_.end() || tensors_[index] == nullptr ? -1 : static_cast<int32_t>(index);
}

Weights::Weights(const GgufFile& file, Device& device, const std::vector<TensorSpec>& model_specs,
                 const std::vector<std::vector<TensorSpec>>& layer_specs,
                 const std::vector<int32_t>& variants, const LoadProgress& progress) {
  size_t n_tensors = model_specs.size();
  for (const auto& specs : layer_specs) {
    n_tensors += specs.size();
  }
  plain_ctx_ = make_context(n_tensors);
  repacked_ctx_ = make_context(n_tensors);

  struct Pending {
    ggml_tensor* tensor;
    const TensorInfo* info;
  };
  std::vector<Pending> pending;
  const auto declare = [&](const std::string& name, const TensorSpec& spec) -> ggml_tensor* {
    const TensorInfo* info = find_weight(file, name, spec);
    if (info == nullptr) {
      return nullptr;
    }
    const bool repack = spec.matrix && device.repacked_type() != nullptr &&
                        can_repack(info->type, info->ne[0], info->ne[1]);
    ggml_tensor* tensor =
        ggml_new_tensor((repack ? repacked_ctx_ : plain_ctx_).get(), info->type,
                        static_cast<int>(std::max<size_t>(1, spec.ne.size())), info->ne.data());
    ggml_set_name(tensor, name.c_str());
    pending.push_back({tensor, info});
    bytes_ += info->bytes;
    return tensor;
  };
  for (const TensorSpec& spec : model_specs) {
    model_.add(spec.name, declare(spec.name, spec));
  }
  std::map<std::vector<int64_t>, int32_t> kinds;
  for (size_t il = 0; il < layer_specs.size(); ++il) {
    NamedTensors layer;
    std::vector<int64_t> kind{variants[il]};
    for (const TensorSpec& spec : layer_specs[il]) {
      ggml_tensor* tensor = declare(layer_name(il, spec.name), spec);
      layer.add(spec.name, tensor);
      kind.push_back(tensor == nullptr ? -1 : tensor->type);
      kind.insert(kind.end(), spec.ne.begin(), spec.ne.end());
    }
    layers_.push_back(std::move(layer));
    kinds_.push_back(kinds.try_emplace(kind, static_cast<int32_t>(kinds.size())).first->second);
  }

  const auto allocate = [](ggml_context* ctx, ggml_backend_buffer_type_t type) {
    ggml_backend_buffer_ptr buffer;
    if (ggml_get_first_tensor(ctx) != nullptr) {
      buffer.reset(ggml_backend_alloc_ctx_tensors_from_buft(ctx, type));
      if (buffer == nullptr) {
        throw Error(ErrorCode::kNoMemory, "no memory for the model's resident weights");
      }
      ggml_backend_buffer_set_usage(buffer.get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    }
    return buffer;
  };
  plain_buffer_ = allocate(plain_ctx_.get(), device.buffer_type());
  if (device.repacked_type() != nullptr) {
    repacked_buffer_ = allocate(repacked_ctx_.get(), device.repacked_type());
  }

  uint64_t done = 0;
  std::vector<std::byte> bytes;
  for (const Pending& p : pending) {
    // A repacked tensor is converted as a whole; others go through in pieces, to keep the peak low.
    const bool whole = ggml_backend_buffer_get_type(p.tensor->buffer) == device.repacked_type();
    const uint64_t piece = whole ? p.info->bytes : std::min(p.info->bytes, kReadBytes);
    for (uint64_t offset = 0; offset < p.info->bytes; offset += piece) {
      const uint64_t n = std::min(piece, p.info->bytes - offset);
      bytes.resize(n);
      file.read(*p.info, offset, bytes.data(), n);
      ggml_backend_tensor_set(p.tensor, bytes.data(), offset, n);
      done += n;
      if (progress && !progress(done, bytes_)) {
        throw Error(ErrorCode::kCancelled, "loading was cancelled");
      }
    }
  }
}

}  // namespace runahead
