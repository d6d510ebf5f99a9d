#include "gguf/shard.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "base/align.h"
#include "base/error.h"
#include "gguf/byte_reader.h"
#include "gguf/text.h"

namespace runahead {
namespace {

constexpr uint32_t kNewestVersion = 3;
constexpr uint64_t kMaxKeyBytes = 65535;  // the format's own bound
constexpr uint64_t kMaxTensorNameBytes = GGML_MAX_NAME - 1;
constexpr uint64_t kMaxKeys = uint64_t{1} << 16;     // real models: below 100
constexpr uint64_t kMaxTensors = uint64_t{1} << 18;  // one tensor per expert: up to about 70,000
constexpr uint64_t kMaxAlignment = uint64_t{1} << 24;
constexpr uint64_t kDefaultAlignment = 32;
// The shortest possible entries: every length 1, every payload 1 byte, one dimension.
constexpr uint64_t kMinKeyBytes = 8 + 1 + 4 + 1;
constexpr uint64_t kMinTensorBytes = 8 + 1 + 4 + 8 + 4 + 8;

struct Counts {
  uint64_t n_tensors;
  uint64_t n_keys;
};

// What a file that is no GGUF probably is, by its first bytes.
const char* guess_kind(std::string_view magic) {
  if (magic == "FUGG") return "a big-endian GGUF, which is not supported";
  if (magic == "ggjt" || magic == "tjgg" || magic == "lmgg" || magic == "fmgg") {
    return "a model in the format before GGUF; get the model as GGUF";
  }
  if (magic == "vers")
    return "perhaps a Git LFS pointer in place of the model; download the model itself";
  if (magic == "<!DO" || magic == "<!do" || magic == "<htm") {
    return "a web page in place of the model; download the model again";
  }
  if (magic.substr(0, 2) == "PK")
    return "a zip archive, perhaps a PyTorch model; get the model as GGUF";
  return "not a GGUF file";
}

Counts read_header(ByteReader& reader) {
  reader.set_subject("header");
  std::string magic(4, '\0');
  reader.take(magic.data(), magic.size(), "the magic 'GGUF'");
  if (magic != "GGUF") {
    reader.fail("begins with '" + printable(magic) + "', not 'GGUF': " + guess_kind(magic));
  }
  const uint32_t version = reader.u32("version");
  const uint32_t swapped = __builtin_bswap32(version);
  if (version > kNewestVersion && swapped >= 1 && swapped <= kNewestVersion) {
    reader.fail("version is " + std::to_string(version) + ", that is " + std::to_string(swapped) +
                    " in the other byte order: big-endian files are not supported",
                ErrorCode::kUnsupported);
  }
  if (version < 2 || version > kNewestVersion) {
    reader.fail("version is " + std::to_string(version) + "; 2 and 3 are supported" +
                    (version == 1 ? ", convert the model again" : ""),
                ErrorCode::kUnsupported);
  }
  const Counts counts{reader.u64("number of tensors"), reader.u64("number of keys")};
  const auto check = [&](const char* what, uint64_t n, uint64_t max, uint64_t min_bytes) {
    const uint64_t fits = std::min(max, reader.left() / min_bytes);
    if (n > fits) {
      reader.fail("number of " + std::string(what) + " is " + std::to_string(n) +
                  ", but the file has room for " + std::to_string(fits) + " at most");
    }
  };
  check("tensors", counts.n_tensors, kMaxTensors, kMinTensorBytes);
  check("keys", counts.n_keys, kMaxKeys, kMinKeyBytes);
  return counts;
}

ValueType read_type(ByteReader& reader, const char* field) {
  const uint32_t number = reader.u32(field);
  if (number >= kValueTypes) {
    reader.fail(std::string(field) + " is " + std::to_string(number) + "; 0 to " +
                std::to_string(kValueTypes - 1) + " are possible");
  }
  return static_cast<ValueType>(number);
}

void skip_strings(ByteReader& reader, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t size = reader.u64("length of a string in the array");
    if (size > reader.left()) {
      reader.fail_short("element " + std::to_string(i) + " of " + std::to_string(count), size);
    }
    reader.skip(size, "string");
  }
}

void read_array(ByteReader& reader, MetadataEntry& entry) {
  entry.is_array = true;
  entry.type = read_type(reader, "type of the array's elements");
  if (entry.type == ValueType::kArray) {
    reader.fail("is an array of arrays, which is not supported", ErrorCode::kUnsupported);
  }
  entry.count = reader.u64("length of the array");
  entry.offset = reader.position();
  const bool strings = entry.type == ValueType::kString;
  const uint64_t element_bytes = strings ? sizeof(uint64_t) : bytes_of(entry.type);
  if (entry.count > reader.left() / element_bytes) {
    reader.fail("has an array of " + std::to_string(entry.count) + " elements (" +
                name_of(entry.type) + "), but only " + std::to_string(reader.left()) +
                " bytes are left for it");
  }
  if (strings) {
    skip_strings(reader, entry.count);
  } else {
    reader.skip(entry.count * element_bytes, "array");
  }
  entry.bytes = reader.position() - entry.offset;
}

MetadataEntry read_entry(ByteReader& reader, uint64_t i) {
  MetadataEntry entry;
  reader.set_subject("key " + std::to_string(i));
  entry.key = reader.name("name", kMaxKeyBytes);
  reader.set_subject("key '" + printable(entry.key) + "'");
  entry.type = read_type(reader, "type");
  if (entry.type == ValueType::kArray) {
    read_array(reader, entry);
  } else if (entry.type == ValueType::kString) {
    entry.bytes = reader.u64("length of the string");
    entry.offset = reader.position();
    reader.skip(entry.bytes, "string");
  } else {
    entry.bytes = bytes_of(entry.type);
    entry.offset = reader.position();
    reader.take(&entry.number, entry.bytes, "value");
    if (entry.type == ValueType::kBool && entry.number > 1) {
      reader.fail("is " + std::to_string(entry.number) + "; a bool is 0 or 1");
    }
  }
  return entry;
}

Metadata read_metadata(ByteReader& reader, const std::filesystem::path& path, uint64_t n_keys) {
  std::vector<MetadataEntry> entries;
  entries.reserve(n_keys);
  for (uint64_t i = 0; i < n_keys; ++i) {
    entries.push_back(read_entry(reader, i));
  }
  return Metadata(path, std::move(entries));
}

uint64_t read_alignment(ByteReader& reader, const Metadata& metadata) {
  const MetadataEntry* entry = metadata.find("general.alignment");
  if (entry == nullptr) {
    return kDefaultAlignment;
  }
  reader.set_subject("key 'general.alignment'");
  if (entry->is_array || entry->type != ValueType::kU32) {
    reader.fail("is of type " + std::string(entry->is_array ? "array" : name_of(entry->type)) +
                "; it must be u32");
  }
  if (!std::has_single_bit(entry->number) || entry->number > kMaxAlignment) {
    reader.fail("is " + std::to_string(entry->number) + "; it must be a power of two of at most " +
                std::to_string(kMaxAlignment));
  }
  return entry->number;
}

void read_shape(ByteReader& reader, TensorInfo& tensor) {
  const uint32_t n_dims = reader.u32("number of dimensions");
  if (n_dims < 1 || n_dims > tensor.ne.size()) {
    reader.fail("has " + std::to_string(n_dims) + " dimensions; 1 to " +
                std::to_string(tensor.ne.size()) + " are possible");
  }
  int64_t n_elements = 1;
  for (uint32_t d = 0; d < n_dims; ++d) {
    const uint64_t n = reader.u64("dimension");
    if (n == 0 || n > INT64_MAX) {
      reader.fail("dimension " + std::to_string(d) + " is " + std::to_string(n) + "; 1 to " +
                  std::to_string(INT64_MAX) + " are possible");
    }
    tensor.ne[d] = static_cast<int64_t>(n);
    if (__builtin_mul_overflow(n_elements, tensor.ne[d], &n_elements)) {
      reader.fail("has more elements than can be counted: dimension " + std::to_string(d) + " is " +
                  std::to_string(n));
    }
  }
}

// Sets type and bytes. REQUIRES: the shape is set.
void read_tensor_type(ByteReader& reader, TensorInfo& tensor) {
  const uint32_t number = reader.u32("type");
  if (number >= GGML_TYPE_COUNT || ggml_blck_size(static_cast<ggml_type>(number)) <= 0 ||
      ggml_type_size(static_cast<ggml_type>(number)) == 0) {
    reader.fail(
        "is of type " + std::to_string(number) + ", which is " +
            (number < GGML_TYPE_COUNT ? "no longer supported; get the model in another quantisation"
                                      : "unknown; a newer program may know it"),
        ErrorCode::kUnsupported);
  }
  tensor.type = static_cast<ggml_type>(number);
  const int64_t block = ggml_blck_size(tensor.type);
  if (tensor.ne[0] % block != 0) {
    reader.fail("has rows of " + std::to_string(tensor.ne[0]) + " elements, not whole blocks of " +
                std::to_string(block) + " (" + ggml_type_name(tensor.type) + ")");
  }
  tensor.bytes = static_cast<uint64_t>(tensor.ne[0] / block);
  const std::array<uint64_t, 4> factors{
      ggml_type_size(tensor.type), static_cast<uint64_t>(tensor.ne[1]),
      static_cast<uint64_t>(tensor.ne[2]), static_cast<uint64_t>(tensor.ne[3])};
  for (const uint64_t factor : factors) {
    if (__builtin_mul_overflow(tensor.bytes, factor, &tensor.bytes)) {
      reader.fail("has more bytes than can be counted: " + std::to_string(tensor.ne[0]) + " x " +
                  std::to_string(tensor.ne[1]) + " x " + std::to_string(tensor.ne[2]) + " x " +
                  std::to_string(tensor.ne[3]) + " elements of " + ggml_type_name(tensor.type));
    }
  }
}

// TensorInfo::offset is still relative to the data.
TensorInfo read_tensor(ByteReader& reader, uint64_t i) {
  TensorInfo tensor;
  reader.set_subject("tensor " + std::to_string(i));
  tensor.name = reader.name("name", kMaxTensorNameBytes);
  reader.set_subject("tensor '" + tensor.name + "'");
  read_shape(reader, tensor);
  read_tensor_type(reader, tensor);
  tensor.offset = reader.u64("offset");
  return tensor;
}

// Makes offsets absolute. REQUIRES: `reader` is at the end of the tensor table.
void place(ByteReader& reader, std::vector<TensorInfo>& tensors, uint64_t alignment,
           uint64_t file_bytes) {
  const uint64_t data_begin = align_up(reader.position(), alignment);
  for (TensorInfo& tensor : tensors) {
    reader.set_subject("tensor '" + tensor.name + "'");
    if (tensor.offset % alignment != 0) {
      reader.fail("offset is " + std::to_string(tensor.offset) +
                  ", not a multiple of the alignment " + std::to_string(alignment) +
                  " (general.alignment)");
    }
    uint64_t begin = 0;
    uint64_t end = 0;
    if (__builtin_add_overflow(data_begin, tensor.offset, &begin) ||
        __builtin_add_overflow(begin, tensor.bytes, &end) || end > file_bytes) {
      reader.fail("with offset " + std::to_string(tensor.offset) + " and " +
                  std::to_string(tensor.bytes) +
                  " bytes goes past the end of the file, which has " + std::to_string(file_bytes) +
                  " bytes; it is damaged or was not downloaded to the end");
    }
    tensor.offset = begin;
  }
}

void check_no_overlap(ByteReader& reader, const std::vector<TensorInfo>& tensors) {
  std::vector<uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return tensors[a].offset < tensors[b].offset; });
  for (size_t i = 1; i < order.size(); ++i) {
    const TensorInfo& before = tensors[order[i - 1]];
    const TensorInfo& after = tensors[order[i]];
    if (before.offset + before.bytes > after.offset) {
      reader.set_subject("tensor '" + after.name + "'");
      reader.fail("begins at byte " + std::to_string(after.offset) + ", inside tensor '" +
                  before.name + "', which ends at byte " +
                  std::to_string(before.offset + before.bytes));
    }
  }
}

}  // namespace

GgufShard GgufShard::open(const std::filesystem::path& path) {
  const InputFile file(path);
  ByteReader reader(file);
  const Counts counts = read_header(reader);

  GgufShard shard;
  shard.source = {path, file.bytes()};
  shard.metadata = read_metadata(reader, path, counts.n_keys);
  const uint64_t alignment = read_alignment(reader, shard.metadata);
  shard.tensors.reserve(counts.n_tensors);
  for (uint64_t i = 0; i < counts.n_tensors; ++i) {
    shard.tensors.push_back(read_tensor(reader, i));
  }
  place(reader, shard.tensors, alignment, file.bytes());
  check_no_overlap(reader, shard.tensors);

  const uint64_t bytes = file.bytes();
  shard.hash = fnv1a(reader.hash(), &bytes, sizeof(bytes));
  return shard;
}

}  // namespace runahead
