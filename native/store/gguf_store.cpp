#include "store/gguf_store.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "base/align.h"
#include "base/error.h"

namespace runahead {
namespace {

constexpr size_t kBounceBytes = size_t{1} << 20;

// One per thread that reads, freed with it.
std::byte* bounce_buffer() {
  struct alignas(kPageBytes) Page {
    std::byte bytes[kPageBytes];
  };
  thread_local std::unique_ptr<Page[]> pages(new Page[kBounceBytes / kPageBytes]);
  return pages[0].bytes;
}

}  // namespace

GgufStore::GgufStore(GgufExperts experts) : experts_(std::move(experts)) {
  for (const GgufSource& source : experts_.files) {
    const DirectFile& file = files_.emplace_back(source.path);
    if (file.size() != source.bytes) {
      throw Error(ErrorCode::kBadFile,
                  source.path.string() + ": has " + std::to_string(file.size()) + " bytes, had " +
                      std::to_string(source.bytes) + " when it was opened; load the model again");
    }
  }
}

void GgufStore::read(ExpertId id, uint64_t offset, std::span<std::byte> destination) const {
  const uint64_t end = offset + destination.size();
  const SlotClass& slot_class = experts_.layout.class_of(id.layer);
  CHECK(end <= slot_class.record_bytes);
  for (size_t i = 0; i < slot_class.matrices.size(); ++i) {
    const ExpertMatrix& matrix = slot_class.matrices[i];
    const uint64_t padded_end = matrix.offset + align_up(matrix.bytes, kPageBytes);
    const uint64_t from = std::max(offset, matrix.offset);
    const uint64_t to = std::min(end, padded_end);
    if (from >= to) {
      continue;
    }
    const uint64_t data_to = std::clamp(matrix.offset + matrix.bytes, from, to);
    read_bytes(id, i, from - matrix.offset, destination.subspan(from - offset, data_to - from));
    std::memset(destination.data() + (data_to - offset), 0, to - data_to);
  }
}

void GgufStore::read_matrix(ExpertId id, size_t matrix, std::span<std::byte> destination) const {
  CHECK(destination.size() == experts_.layout.class_of(id.layer).matrices[matrix].bytes);
  read_bytes(id, matrix, 0, destination);
}

void GgufStore::read_bytes(ExpertId id, size_t matrix, uint64_t offset,
                           std::span<std::byte> destination) const {
  const MatrixPlace& place = experts_.places[static_cast<size_t>(id.layer)][matrix];
  const uint64_t matrix_bytes = experts_.layout.class_of(id.layer).matrices[matrix].bytes;
  const DirectFile& file = files_[static_cast<size_t>(place.file)];
  std::byte* bounce = bounce_buffer();
  uint64_t at = place.offset + static_cast<uint64_t>(id.expert) * matrix_bytes + offset;
  while (!destination.empty()) {
    const uint64_t begin = align_down(at, kPageBytes);
    const size_t skip = at - begin;
    const size_t bytes = std::min(destination.size(), kBounceBytes - skip);
    try {
      file.read(begin, {bounce, align_up(skip + bytes, kPageBytes)}, skip + bytes);
    } catch (const Error& error) {
      throw Error(error.code(), std::string(error.what()) + " (" + text_of(id) + ")");
    }
    std::memcpy(destination.data(), bounce + skip, bytes);
    destination = destination.subspan(bytes);
    at += bytes;
  }
}

}  // namespace runahead
