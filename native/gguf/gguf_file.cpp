#include "gguf/gguf_file.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "gguf/fnv.h"
#include "gguf/input_file.h"
#include "gguf/shard.h"
#include "gguf/split_name.h"
#include "gguf/text.h"

namespace runahead {
namespace {

constexpr const char* kSplitCount = "split.count";
constexpr const char* kSplitNo = "split.no";
constexpr const char* kSplitTensors = "split.tensors.count";
constexpr uint64_t kMaxShards = 9999;
constexpr size_t kNamedMissing = 5;  // so many missing shards are named
constexpr uint64_t kSamples = 64;    // of the weights, for the fingerprint
constexpr uint64_t kSampleBytes = 4096;

std::string name_for_message(const std::filesystem::path& path) {
  return printable(path.native(), 4096);
}

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& what) {
  throw Error(ErrorCode::kBadFile, name_for_message(path) + ": " + what);
}

// 0 (written by tools that join shards) and 1 both mean a whole model.
uint64_t n_shards(const GgufShard& shard) {
  return shard.metadata.get_uint(kSplitCount, 0, kMaxShards).value_or(1);
}

// The paths of all shards of the model `shard` is one of. Throws when the names do not fit or a
// file is missing.
std::vector<std::filesystem::path> shard_paths(const GgufShard& shard) {
  const std::filesystem::path& path = shard.source.path;
  const uint64_t count = n_shards(shard);
  const uint64_t no = shard.metadata.require_uint(kSplitNo, 0, count - 1);
  const std::optional<SplitName> name = SplitName::parse(path);
  if (!name || name->count != count || name->no != no) {
    const SplitName right{name ? name->prefix : path.stem().string(), 0,
                          static_cast<uint32_t>(count)};
    fail(path, "is shard " + std::to_string(no + 1) + " of " + std::to_string(count) +
                   " by its metadata (split.no " + std::to_string(no) +
                   "), but its name does not say so; " + "it must end like '" +
                   printable(right.of_shard(static_cast<uint32_t>(no))) + "'");
  }
  std::vector<std::filesystem::path> paths;
  std::vector<std::string> missing;
  for (uint32_t i = 0; i < count; ++i) {
    paths.push_back(path.parent_path() / name->of_shard(i));
    std::error_code error;
    if (!std::filesystem::exists(paths.back(), error)) {
      missing.push_back(name->of_shard(i));
    }
  }
  if (!missing.empty()) {
    std::string text =
        std::to_string(missing.size()) + " of " + std::to_string(count) + " shards missing: ";
    for (size_t i = 0; i < std::min(missing.size(), kNamedMissing); ++i) {
      text += (i > 0 ? ", " : "") + printable(missing[i], 300);
    }
    text += missing.size() > kNamedMissing ? ", ..." : "";
    fail(path, text + "; put them into the same folder");
  }
  return paths;
}

// `shard` must be number `no` of the model that `first` begins.
void check_shard(const GgufShard& shard, uint64_t no, const GgufShard& first) {
  const auto check = [&](const char* key, uint64_t wanted) {
    const uint64_t value = shard.metadata.require_uint(key, 0, UINT32_MAX);
    if (value != wanted) {
      fail(shard.source.path, "key '" + std::string(key) + "' is " + std::to_string(value) +
                                  ", but " + std::to_string(wanted) +
                                  " is needed: a shard of another model?");
    }
  };
  check(kSplitCount, n_shards(first));
  check(kSplitNo, no);
  check(kSplitTensors, first.metadata.require_uint(kSplitTensors, 0, UINT32_MAX));
  for (const char* key :
       {"general.architecture", "general.name"}) {  // most tools write them in the first only
    const std::optional<std::string> value = shard.metadata.get_string(key);
    const std::optional<std::string> wanted = first.metadata.get_string(key);
    if (value && value != wanted) {
      fail(shard.source.path, "key '" + std::string(key) + "' is '" + printable(*value) +
                                  "', but the first shard has '" + printable(wanted.value_or("")) +
                                  "': a shard of another model?");
    }
  }
}

}  // namespace

GgufFile GgufFile::open(const std::filesystem::path& path) {
  GgufShard given = GgufShard::open(path);
  const bool split = n_shards(given) > 1;
  std::vector<GgufShard> shards;
  if (split) {
    for (const std::filesystem::path& shard : shard_paths(given)) {
      shards.push_back(GgufShard::open(shard));
      check_shard(shards.back(), shards.size() - 1, shards.front());
    }
  } else {
    shards.push_back(std::move(given));
  }

  GgufFile file;
  uint64_t hash = kFnvStart;
  for (GgufShard& shard : shards) {
    hash = fnv1a(hash, &shard.hash, sizeof(shard.hash));
    for (TensorInfo& tensor : shard.tensors) {
      tensor.file = static_cast<int32_t>(file.files_.size());
      file.tensors_.push_back(std::move(tensor));
    }
    file.files_.push_back(std::move(shard.source));
  }
  file.metadata_ = std::move(shards.front().metadata);
  if (split) {
    const uint64_t n_tensors = file.metadata_.require_uint(kSplitTensors, 0, UINT32_MAX);
    if (n_tensors != file.tensors_.size()) {
      fail(file.path(), "key '" + std::string(kSplitTensors) + "' is " + std::to_string(n_tensors) +
                            ", but the shards have " + std::to_string(file.tensors_.size()) +
                            " tensors: a shard of another model?");
    }
  }
  file.index_tensors();
  file.fingerprint_ = file.hash_samples(hash);
  return file;
}

void GgufFile::index_tensors() {
  by_name_.resize(tensors_.size());
  std::iota(by_name_.begin(), by_name_.end(), 0u);
  // Equal names stay in file order, so that the second one is blamed.
  std::stable_sort(by_name_.begin(), by_name_.end(),
                   [&](uint32_t a, uint32_t b) { return tensors_[a].name < tensors_[b].name; });
  for (size_t i = 1; i < by_name_.size(); ++i) {
    const TensorInfo& before = tensors_[by_name_[i - 1]];
    const TensorInfo& tensor = tensors_[by_name_[i]];
    if (tensor.name == before.name) {
      const auto file_of = [&](const TensorInfo& t) -> const std::filesystem::path& {
        return files_[static_cast<size_t>(t.file)].path;
      };
      fail(file_of(tensor),
           "tensor '" + tensor.name + "' occurs twice" +
               (tensor.file == before.file ? std::string()
                                           : ", also in " + name_for_message(file_of(before)) +
                                                 ": a shard of another model?"));
    }
  }
}

uint64_t GgufFile::hash_samples(uint64_t hash) const {
  const size_t stride = tensors_.size() / kSamples + 1;
  std::vector<char> sample(kSampleBytes);
  for (size_t i = 0; i < tensors_.size(); i += stride) {
    const TensorInfo& tensor = tensors_[i];
    const uint64_t size = std::min(tensor.bytes, kSampleBytes);
    read(tensor, (tensor.bytes - size) / 2, sample.data(), size);
    hash = fnv1a(hash, sample.data(), size);
  }
  return hash;
}

const std::filesystem::path& GgufFile::path() const {
  return files_.front().path;
}
const std::vector<GgufSource>& GgufFile::files() const {
  return files_;
}
const std::vector<TensorInfo>& GgufFile::tensors() const {
  return tensors_;
}

const TensorInfo* GgufFile::find(std::string_view tensor) const {
  const auto it = std::lower_bound(
      by_name_.begin(), by_name_.end(), tensor,
      [&](uint32_t i, std::string_view wanted) { return tensors_[i].name < wanted; });
  return it != by_name_.end() && tensors_[*it].name == tensor ? &tensors_[*it] : nullptr;
}

const TensorInfo& GgufFile::require(std::string_view tensor) const {
  const TensorInfo* found = find(tensor);
  if (found == nullptr) {
    fail(path(), "tensor '" + printable(tensor) + "' is missing");
  }
  return *found;
}

bool GgufFile::has(std::string_view key) const {
  return metadata_.find(key) != nullptr;
}
bool GgufFile::is_array(std::string_view key) const {
  const MetadataEntry* entry = metadata_.find(key);
  return entry != nullptr && entry->is_array;
}
std::optional<uint64_t> GgufFile::get_uint(std::string_view key, uint64_t min, uint64_t max) const {
  return metadata_.get_uint(key, min, max);
}
uint64_t GgufFile::require_uint(std::string_view key, uint64_t min, uint64_t max) const {
  return metadata_.require_uint(key, min, max);
}
std::optional<double> GgufFile::get_float(std::string_view key) const {
  return metadata_.get_float(key);
}
std::optional<bool> GgufFile::get_bool(std::string_view key) const {
  return metadata_.get_bool(key);
}
std::optional<std::string> GgufFile::get_string(std::string_view key) const {
  return metadata_.get_string(key);
}
std::optional<std::vector<std::string>> GgufFile::get_strings(std::string_view key) const {
  return metadata_.get_strings(key);
}
std::optional<std::vector<int64_t>> GgufFile::get_ints(std::string_view key) const {
  return metadata_.get_ints(key);
}
std::optional<uint64_t> GgufFile::array_length(std::string_view key) const {
  return metadata_.array_length(key);
}
std::vector<std::pair<std::string, std::string>> GgufFile::describe_metadata() const {
  return metadata_.describe();
}

uint64_t GgufFile::fingerprint() const {
  return fingerprint_;
}

void GgufFile::read(const TensorInfo& tensor, uint64_t offset, void* destination,
                    uint64_t size) const {
  CHECK(tensor.file >= 0 && static_cast<size_t>(tensor.file) < files_.size());
  CHECK(offset <= tensor.bytes && size <= tensor.bytes - offset);
  const InputFile file(files_[static_cast<size_t>(tensor.file)].path);
  file.read(tensor.offset + offset, destination, size);
}

}  // namespace runahead
