#include "store/layout.h"

#include <algorithm>
#include <utility>

#include "base/align.h"
#include "base/error.h"

namespace runahead {

SlotClass make_slot_class(std::vector<ExpertMatrix> matrices) {
  SlotClass made;
  for (ExpertMatrix& matrix : matrices) {
    CHECK(matrix.n_in > 0 && matrix.n_out > 0 && matrix.n_in % ggml_blck_size(matrix.type) == 0);
    matrix.bytes = ggml_row_size(matrix.type, matrix.n_in) * static_cast<uint64_t>(matrix.n_out);
    matrix.offset = made.record_bytes;
    made.record_bytes += align_up(matrix.bytes, kPageBytes);
  }
  made.matrices = std::move(matrices);
  return made;
}

int64_t StoreLayout::n_experts_in(int32_t c) const {
  return static_cast<int64_t>(n_expert) *
         std::count(class_of_layer.begin(), class_of_layer.end(), c);
}

uint64_t StoreLayout::total_bytes() const {
  uint64_t total = 0;
  for (size_t c = 0; c < classes.size(); ++c) {
    total += classes[c].record_bytes * static_cast<uint64_t>(n_experts_in(static_cast<int32_t>(c)));
  }
  return total;
}

}  // namespace runahead
