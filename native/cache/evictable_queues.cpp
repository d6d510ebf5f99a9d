#include "cache/evictable_queues.h"

#include "base/error.h"

namespace runahead {

EvictableQueues::EvictableQueues(int32_t n_layer, int32_t n_expert, int32_t n_queue)
    : n_expert_(n_expert),
      n_index_(n_layer * n_expert),
      links_(static_cast<size_t>(n_index_) + static_cast<size_t>(n_queue)) {
  for (int32_t queue = 0; queue < n_queue; ++queue) {
    at(head_of(queue)) = {head_of(queue), head_of(queue)};
  }
}

ExpertId EvictableQueues::front(int32_t queue) const {
  CHECK(!empty(queue));
  const int32_t oldest = at(head_of(queue)).next;
  return {oldest / n_expert_, oldest % n_expert_};
}

void EvictableQueues::push(int32_t queue, ExpertId id) {
  CHECK(!contains(id));
  const int32_t index = index_of(id);
  const int32_t newest = at(head_of(queue)).previous;
  at(index) = {newest, head_of(queue)};
  at(newest).next = index;
  at(head_of(queue)).previous = index;
}

void EvictableQueues::erase(ExpertId id) {
  CHECK(contains(id));
  Link& link = at(index_of(id));
  at(link.previous).next = link.next;
  at(link.next).previous = link.previous;
  link = {};
}

void EvictableQueues::append(int32_t from, int32_t to) {
  if (empty(from)) {
    return;
  }
  const Link moved = at(head_of(from));
  const int32_t newest = at(head_of(to)).previous;
  at(newest).next = moved.next;
  at(moved.next).previous = newest;
  at(moved.previous).next = head_of(to);
  at(head_of(to)).previous = moved.previous;
  at(head_of(from)) = {head_of(from), head_of(from)};
}

}  // namespace runahead
