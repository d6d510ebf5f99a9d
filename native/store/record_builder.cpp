#include "store/record_builder.h"

#include <algorithm>
#include <cstring>

#include "base/align.h"

namespace runahead {

RecordBuilder::RecordBuilder(const GgufStore& source, const StoreLayout& target)
    : source_(source), target_(target) {
  uint64_t largest = 0;
  for (const SlotClass& slot_class : target.classes) {
    auto& repackers = repackers_.emplace_back();
    for (const ExpertMatrix& matrix : slot_class.matrices) {
      repackers.push_back(matrix.repacked
                              ? std::make_unique<Repacker>(matrix.type, matrix.n_in, matrix.n_out)
                              : nullptr);
      largest = std::max(largest, matrix.repacked ? matrix.bytes : 0);
    }
  }
  plain_.resize(largest);
}

void RecordBuilder::build(ExpertId id, std::span<std::byte> record) {
  const auto c = static_cast<size_t>(target_.class_of_layer[static_cast<size_t>(id.layer)]);
  const std::vector<ExpertMatrix>& matrices = target_.classes[c].matrices;
  for (size_t i = 0; i < matrices.size(); ++i) {
    const std::span<std::byte> matrix = record.subspan(matrices[i].offset, matrices[i].bytes);
    if (repackers_[c][i] == nullptr) {
      source_.read_matrix(id, i, matrix);
    } else {
      const std::span<std::byte> plain(plain_.data(), matrix.size());
      source_.read_matrix(id, i, plain);
      repackers_[c][i]->repack(plain, matrix);
    }
    std::byte* end = matrix.data() + matrix.size();
    std::memset(end, 0, align_up(matrix.size(), kPageBytes) - matrix.size());
  }
}

}  // namespace runahead
