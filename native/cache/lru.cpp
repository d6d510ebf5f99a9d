#include "cache/lru.h"

#include "base/error.h"

namespace runahead {

LruEviction::LruEviction(int32_t n_layer, int32_t n_expert)
    : n_expert_(n_expert),
      head_(n_layer * n_expert),
      links_(static_cast<size_t>(n_layer) * static_cast<size_t>(n_expert) + 1) {
  at(head_) = {head_, head_};
}

void LruEviction::used(ExpertId id) {
  CHECK(at(index_of(id)).next == -1);
}

void LruEviction::evictable(ExpertId id, SlotId) {
  const int32_t index = index_of(id);
  CHECK(at(index).next == -1);
  const int32_t newest = at(head_).previous;
  at(index) = {newest, head_};
  at(newest).next = index;
  at(head_).previous = index;
}

void LruEviction::not_evictable(ExpertId id, SlotId) {
  Link& link = at(index_of(id));
  CHECK(link.next != -1);
  at(link.previous).next = link.next;
  at(link.next).previous = link.previous;
  link = {};
}

ExpertId LruEviction::victim() const {
  const int32_t oldest = links_[static_cast<size_t>(head_)].next;
  CHECK(oldest != head_);
  return {oldest / n_expert_, oldest % n_expert_};
}

}  // namespace runahead
