#include "store/pack.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "base/align.h"
#include "base/error.h"
#include "store/checksum.h"
#include "store/repack.h"

namespace runahead {
namespace {

constexpr std::array<char, 8> kMagic{'R', 'U', 'N', 'A', 'P', 'A', 'C', 'K'};
constexpr size_t kRoleBytes = 16;
constexpr size_t kFixedBytes = 64;
constexpr size_t kMatrixBytes = kRoleBytes + 4 + 4 + 8 + 8 + 8;
constexpr size_t kEntryBytes = 24;

class Writer {
 public:
  template <typename T>
  void put(T value) {
    static_assert(std::is_integral_v<T>);
    for (size_t i = 0; i < sizeof(T); ++i) {
      bytes_.push_back(
          static_cast<std::byte>(static_cast<std::make_unsigned_t<T>>(value) >> (8 * i)));
    }
  }
  void put_text(const std::string& text, size_t width) {
    CHECK(text.size() <= width);
    for (size_t i = 0; i < width; ++i) {
      bytes_.push_back(i < text.size() ? static_cast<std::byte>(text[i]) : std::byte{0});
    }
  }
  void pad_to(size_t alignment) { bytes_.resize(align_up(bytes_.size(), alignment)); }
  [[nodiscard]] std::vector<std::byte>& bytes() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// Reads a header whose length is known to be right, and says which field is not what it must be.
class Reader {
 public:
  Reader(std::span<const std::byte> bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  template <typename T>
  T take() {
    static_assert(std::is_integral_v<T>);
    CHECK(at_ + sizeof(T) <= bytes_.size());
    std::make_unsigned_t<T> value = 0;
    for (size_t i = 0; i < sizeof(T); ++i) {
      value |= static_cast<std::make_unsigned_t<T>>(
          static_cast<std::make_unsigned_t<T>>(bytes_[at_ + i]) << (8 * i));
    }
    at_ += sizeof(T);
    return static_cast<T>(value);
  }

  template <typename T>
  void expect(const std::string& field, T expected) {
    const T value = take<T>();
    if (value != expected) {
      fail(field, std::to_string(value), std::to_string(expected));
    }
  }

  void expect_text(const std::string& field, const std::string& expected, size_t width) {
    CHECK(at_ + width <= bytes_.size());
    for (size_t i = 0; i < width; ++i) {
      const std::byte wanted =
          i < expected.size() ? static_cast<std::byte>(expected[i]) : std::byte{0};
      if (bytes_[at_ + i] != wanted) {
        fail(field, "another text", "'" + expected + "'");
      }
    }
    at_ += width;
  }

  void expect_zeros(const std::string& field, size_t end) {
    for (; at_ < end; ++at_) {
      if (bytes_[at_] != std::byte{0}) {
        fail(field, std::to_string(static_cast<int>(bytes_[at_])), "0");
      }
    }
  }

  [[nodiscard]] size_t at() const { return at_; }

  [[noreturn]] void fail(const std::string& field, const std::string& value,
                         const std::string& expected, ErrorCode code = ErrorCode::kBadFile) const {
    throw Error(code, file_ + ": " + field + " is " + value + ", expected " + expected +
                          "; rebuild the pack");
  }

 private:
  std::span<const std::byte> bytes_;
  const std::string& file_;
  size_t at_ = 0;
};

uint64_t tag_of(const ExpertMatrix& matrix) {
  return matrix.repacked ? repack_tag(matrix.type, matrix.n_in, matrix.n_out) : 0;
}

uint64_t header_checksum(std::span<const std::byte> header) {
  std::vector<std::byte> copy(header.begin(), header.end());
  std::memset(copy.data() + kPackChecksumOffset, 0, sizeof(uint64_t));
  return checksum(copy);
}

// Fields that say whether the rest can be understood at all.
void check_prefix(Reader& reader, std::span<const std::byte> header, uint64_t file_bytes,
                  const GgufExperts& experts, const std::string& file) {
  if (header.size() < kFixedBytes ||
      std::memcmp(header.data(), kMagic.data(), kMagic.size()) != 0) {
    throw Error(
        ErrorCode::kBadFile,
        file + ": not an expert pack (no magic RUNAPACK at its beginning); rebuild the pack");
  }
  reader.take<uint64_t>();
  const auto version = reader.take<uint32_t>();
  if (version != kPackVersion) {
    reader.fail("version", std::to_string(version), std::to_string(kPackVersion),
                ErrorCode::kUnsupported);
  }
  const auto weights = reader.take<uint32_t>();
  if (weights > 1) {
    reader.fail("weight layout", std::to_string(weights), "0 (plain) or 1 (repacked)");
  }
  const auto header_bytes = reader.take<uint64_t>();
  const auto stored_checksum = reader.take<uint64_t>();
  const auto stored_file_bytes = reader.take<uint64_t>();
  const auto fingerprint = reader.take<uint64_t>();
  if (fingerprint != experts.fingerprint) {
    throw Error(ErrorCode::kBadFile, file + ": the fingerprint " + std::to_string(fingerprint) +
                                         " is not that of the model, " +
                                         std::to_string(experts.fingerprint) +
                                         ": the pack was made from another file; rebuild the pack");
  }
  const uint64_t expected_bytes = pack_header_bytes(experts.layout);
  if (header_bytes != expected_bytes) {
    reader.fail("header_bytes", std::to_string(header_bytes), std::to_string(expected_bytes));
  }
  if (stored_file_bytes != file_bytes) {
    reader.fail("file_bytes", std::to_string(stored_file_bytes),
                std::to_string(file_bytes) + " (the size of the file: was it cut?)");
  }
  if (header.size() < expected_bytes) {
    throw Error(ErrorCode::kBadFile, file + ": ends after " + std::to_string(file_bytes) +
                                         " bytes, in its header; rebuild the pack");
  }
  const uint64_t actual = header_checksum(header.first(expected_bytes));
  if (stored_checksum != actual) {
    reader.fail("header checksum", std::to_string(stored_checksum), std::to_string(actual));
  }
}

void check_matrix(Reader& reader, const std::string& where, ExpertMatrix& matrix) {
  reader.expect_text(where + " role", matrix.role, kRoleBytes);
  reader.expect<uint32_t>(where + " type", static_cast<uint32_t>(matrix.type));
  const auto repacked = reader.take<uint32_t>();
  if (repacked > 1) {
    reader.fail(where + " repacked", std::to_string(repacked), "0 or 1");
  }
  reader.expect<uint64_t>(where + " n_in", static_cast<uint64_t>(matrix.n_in));
  reader.expect<uint64_t>(where + " n_out", static_cast<uint64_t>(matrix.n_out));
  if (repacked == 1 && !can_repack(matrix.type, matrix.n_in, matrix.n_out)) {
    reader.fail(where + " repacked", "1", "0, since this CPU has no repacked kernels for it",
                ErrorCode::kUnsupported);
  }
  matrix.repacked = repacked == 1;
  const auto tag = reader.take<uint64_t>();
  const uint64_t expected_tag = tag_of(matrix);
  if (tag != expected_tag) {
    reader.fail(where + " repack tag", std::to_string(tag),
                std::to_string(expected_tag) + " (weights are repacked for another kind of CPU)",
                ErrorCode::kUnsupported);
  }
}

}  // namespace

uint64_t pack_header_bytes(const StoreLayout& layout) {
  uint64_t bytes = kFixedBytes + align_up(layout.class_of_layer.size() * sizeof(int32_t), 8);
  for (size_t c = 0; c < layout.classes.size(); ++c) {
    bytes += 8 + layout.classes[c].matrices.size() * kMatrixBytes;
    bytes += static_cast<uint64_t>(layout.n_experts_in(static_cast<int32_t>(c))) * kEntryBytes;
  }
  return align_up(bytes, kPageBytes);
}

PackIndex make_pack_index(const StoreLayout& layout) {
  PackIndex index;
  index.layout = layout;
  index.header_bytes = pack_header_bytes(layout);
  index.file_bytes = index.header_bytes;
  for (int32_t layer = 0; layer < layout.n_layer; ++layer) {
    index.first.push_back(index.offsets.size());
    if (layout.class_of_layer[static_cast<size_t>(layer)] < 0) {
      continue;
    }
    for (int32_t expert = 0; expert < layout.n_expert; ++expert) {
      index.offsets.push_back(index.file_bytes);
      index.file_bytes += layout.class_of(layer).record_bytes;
    }
  }
  index.checksums.assign(index.offsets.size(), 0);
  return index;
}

std::vector<std::byte> serialize_pack_header(const PackIndex& index, uint64_t fingerprint) {
  const StoreLayout& layout = index.layout;
  Writer writer;
  writer.put_text({kMagic.data(), kMagic.size()}, kMagic.size());
  writer.put<uint32_t>(kPackVersion);
  writer.put<uint32_t>(static_cast<uint32_t>(layout.weights));
  writer.put<uint64_t>(index.header_bytes);
  writer.put<uint64_t>(0);  // the checksum, below
  writer.put<uint64_t>(index.file_bytes);
  writer.put<uint64_t>(fingerprint);
  writer.put<uint32_t>(static_cast<uint32_t>(layout.n_layer));
  writer.put<uint32_t>(static_cast<uint32_t>(layout.n_expert));
  writer.put<uint32_t>(static_cast<uint32_t>(layout.classes.size()));
  writer.put<uint32_t>(0);
  for (const int32_t c : layout.class_of_layer) {
    writer.put<int32_t>(c);
  }
  writer.pad_to(8);
  for (const SlotClass& slot_class : layout.classes) {
    writer.put<uint32_t>(static_cast<uint32_t>(slot_class.matrices.size()));
    writer.put<uint32_t>(0);
    for (const ExpertMatrix& matrix : slot_class.matrices) {
      writer.put_text(matrix.role, kRoleBytes);
      writer.put<uint32_t>(static_cast<uint32_t>(matrix.type));
      writer.put<uint32_t>(matrix.repacked ? 1 : 0);
      writer.put<uint64_t>(static_cast<uint64_t>(matrix.n_in));
      writer.put<uint64_t>(static_cast<uint64_t>(matrix.n_out));
      writer.put<uint64_t>(tag_of(matrix));
    }
  }
  for (int32_t layer = 0; layer < layout.n_layer; ++layer) {
    for (int32_t expert = 0;
         layout.class_of_layer[static_cast<size_t>(layer)] >= 0 && expert < layout.n_expert;
         ++expert) {
      const size_t entry = index.entry({layer, expert});
      writer.put<uint64_t>(index.offsets[entry]);
      writer.put<uint64_t>(layout.class_of(layer).record_bytes);
      writer.put<uint64_t>(index.checksums[entry]);
    }
  }
  writer.pad_to(kPageBytes);
  CHECK(writer.bytes().size() == index.header_bytes);

  Writer sum;
  sum.put<uint64_t>(header_checksum(writer.bytes()));
  std::copy(sum.bytes().begin(), sum.bytes().end(), writer.bytes().begin() + kPackChecksumOffset);
  return std::move(writer.bytes());
}

PackIndex parse_pack_header(std::span<const std::byte> header, uint64_t file_bytes,
                            const GgufExperts& experts, const std::string& file) {
  Reader reader(header, file);
  check_prefix(reader, header, file_bytes, experts, file);

  StoreLayout layout = experts.layout;
  reader.expect<uint32_t>("n_layer", static_cast<uint32_t>(layout.n_layer));
  reader.expect<uint32_t>("n_expert", static_cast<uint32_t>(layout.n_expert));
  reader.expect<uint32_t>("n_class", static_cast<uint32_t>(layout.classes.size()));
  reader.expect<uint32_t>("reserved field", 0);
  for (size_t layer = 0; layer < layout.class_of_layer.size(); ++layer) {
    reader.expect<int32_t>("class of layer " + std::to_string(layer), layout.class_of_layer[layer]);
  }
  reader.expect_zeros("padding", align_up(reader.at(), 8));
  layout.weights = WeightLayout::kPlain;
  for (size_t c = 0; c < layout.classes.size(); ++c) {
    std::vector<ExpertMatrix>& matrices = layout.classes[c].matrices;
    const std::string where = "class " + std::to_string(c);
    reader.expect<uint32_t>(where + " n_matrix", static_cast<uint32_t>(matrices.size()));
    reader.expect<uint32_t>(where + " reserved field", 0);
    for (ExpertMatrix& matrix : matrices) {
      check_matrix(reader, where + " matrix '" + matrix.role + "'", matrix);
      if (matrix.repacked) {
        layout.weights = WeightLayout::kRepacked;
      }
    }
  }
  const auto weights = static_cast<uint32_t>(header[12]);
  if (weights != static_cast<uint32_t>(layout.weights)) {
    reader.fail("weight layout", std::to_string(weights),
                std::to_string(static_cast<uint32_t>(layout.weights)) + ", as its matrices are");
  }

  PackIndex index = make_pack_index(layout);
  for (int32_t layer = 0; layer < layout.n_layer; ++layer) {
    for (int32_t expert = 0;
         layout.class_of_layer[static_cast<size_t>(layer)] >= 0 && expert < layout.n_expert;
         ++expert) {
      const size_t entry = index.entry({layer, expert});
      const std::string where =
          "layer " + std::to_string(layer) + " expert " + std::to_string(expert);
      reader.expect<uint64_t>(where + " offset", index.offsets[entry]);
      reader.expect<uint64_t>(where + " length", layout.class_of(layer).record_bytes);
      index.checksums[entry] = reader.take<uint64_t>();
    }
  }
  reader.expect_zeros("padding", index.header_bytes);
  if (file_bytes != index.file_bytes) {
    reader.fail("file_bytes", std::to_string(file_bytes), std::to_string(index.file_bytes));
  }
  return index;
}

}  // namespace runahead
