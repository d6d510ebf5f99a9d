#include "store/layout.h"

#include <algorithm>

namespace runahead {

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
