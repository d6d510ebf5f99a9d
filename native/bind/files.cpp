// bind/files.cpp: what can be done with a model file without opening an engine.

#include <nanobind/stl/string.h>

#include <map>
#include <set>

#include "bind/bindings.h"
#include "bind/progress.h"
#include "bind/text.h"
#include "model/family.h"
#include "store/pack_store.h"
#include "store/pack_writer.h"

namespace nb = nanobind;

namespace runahead {
namespace {

GgufExperts experts_of(const GgufFile& file) {
  const std::unique_ptr<Family> family = make_family(file);
  return family_experts(file, family->read_hparams(file));
}

nb::dict inspect(const std::string& path) {
  const GgufFile file = [&] {
    const nb::gil_scoped_release release;
    return GgufFile::open(path);
  }();
  nb::dict out;
  nb::list files;
  for (const GgufSource& source : file.files()) {
    nb::dict entry;
    entry["path"] = source.path.string();
    entry["bytes"] = source.bytes;
    files.append(entry);
  }
  std::map<std::string, uint64_t> types;
  nb::list tensors;
  uint64_t total = 0;
  for (const TensorInfo& tensor : file.tensors()) {
    types[ggml_type_name(tensor.type)] += tensor.bytes;
    total += tensor.bytes;
    nb::list shape;
    for (const int64_t n : tensor.ne) {
      shape.append(n);
    }
    tensors.append(nb::make_tuple(tensor.name, ggml_type_name(tensor.type), shape, tensor.bytes));
  }
  nb::dict type_bytes;
  for (const auto& [name, bytes] : types) {
    type_bytes[name.c_str()] = bytes;
  }
  nb::list metadata;
  for (const auto& [key, value] : file.describe_metadata()) {
    metadata.append(nb::make_tuple(key, value));
  }
  const std::string architecture = file.get_string("general.architecture").value_or("");
  const auto number = [&](const char* key) {
    return file.get_uint(architecture + "." + key, 0, UINT32_MAX).value_or(0);
  };
  out["path"] = file.path().string();
  out["files"] = files;
  out["architecture"] = text(architecture);
  out["name"] = text(file.get_string("general.name").value_or(""));
  const std::string reason = why_unsupported(file);
  out["supported"] = reason.empty();
  out["reason"] = text(reason);
  out["n_layer"] = number("block_count");
  out["n_embd"] = number("embedding_length");
  out["n_expert"] = number("expert_count");
  out["n_expert_used"] = number("expert_used_count");
  out["context_length"] = number("context_length");
  out["n_vocab"] = file.array_length("tokenizer.ggml.tokens").value_or(0);
  std::set<uint64_t> record_bytes;
  uint64_t expert_bytes = 0;
  int64_t n_moe_layer = 0;
  nb::list experts_per_class;
  if (reason.empty()) {
    const StoreLayout layout = experts_of(file).layout;
    for (const int32_t c : layout.class_of_layer) {
      n_moe_layer += c >= 0 ? 1 : 0;
    }
    for (size_t c = 0; c < layout.classes.size(); ++c) {
      record_bytes.insert(layout.classes[c].record_bytes);
      experts_per_class.append(layout.n_experts_in(static_cast<int32_t>(c)));
    }
    expert_bytes = layout.total_bytes();
  }
  nb::list sizes;
  for (const uint64_t bytes : record_bytes) {
    sizes.append(bytes);
  }
  out["n_moe_layer"] = n_moe_layer;
  out["expert_bytes"] = sizes;
  out["experts_per_class"] = experts_per_class;
  out["experts_total_bytes"] = expert_bytes;
  out["other_bytes"] = total > expert_bytes ? total - expert_bytes : 0;
  out["types"] = type_bytes;
  out["chat_template"] = text_or_none(file.get_string("tokenizer.chat_template"));
  out["fingerprint"] = file.fingerprint();
  out["metadata"] = metadata;
  out["tensors"] = tensors;
  return out;
}

nb::dict write(const std::string& model_path, const std::string& pack_path,
               const std::string& layout, nb::object progress) {
  if (layout != "repacked" && layout != "plain") {
    throw Error(ErrorCode::kInvalid, "layout '" + layout + "' is not 'repacked' or 'plain'");
  }
  PythonProgress report(std::move(progress));
  WrittenPack written;
  {
    const nb::gil_scoped_release release;
    const GgufExperts experts = experts_of(GgufFile::open(model_path));
    written = write_pack(
        experts, pack_path, layout == "plain" ? WeightLayout::kPlain : WeightLayout::kRepacked,
        [&](uint64_t done, uint64_t total) { return report("pack", done, total); });
  }
  nb::dict out;
  out["path"] = pack_path;
  out["bytes"] = written.bytes;
  out["experts"] = written.n_experts;
  out["layout"] = written.weights == WeightLayout::kPlain ? "plain" : "repacked";
  return out;
}

std::string check(const std::string& pack_path, const std::string& model_path, bool verify,
                  nb::object progress) {
  PythonProgress report(std::move(progress));
  const nb::gil_scoped_release release;
  const GgufExperts experts = experts_of(GgufFile::open(model_path));
  try {
    const PackStore store(pack_path, experts);
    if (verify) {
      store.verify([&](uint64_t done, uint64_t total) { return report("verify", done, total); });
    }
  } catch (const Error& error) {
    // Only what is wrong with the pack is an answer; a disk that cannot be read just now is not.
    if (error.code() != ErrorCode::kBadFile && error.code() != ErrorCode::kUnsupported) {
      throw;
    }
    return error.what();
  }
  return "";
}

}  // namespace

void bind_files(nb::module_& m) {
  m.def("inspect", &inspect, nb::arg("path"),
        "What a GGUF holds, read defensively; see engine/_native.pyi for the keys.");
  m.def("write_pack", &write, nb::arg("model_path"), nb::arg("pack_path"),
        nb::arg("layout") = "repacked", nb::arg("progress").none() = nb::none(),
        "Write the expert pack of a model; atomic.");
  m.def(
      "check_pack", &check, nb::arg("pack_path"), nb::arg("model_path"), nb::arg("verify"),
      nb::arg("progress").none() = nb::none(),
      "'' when the pack is whole and belongs to the model (verify: every checksum), else why not.");
}

}  // namespace runahead
