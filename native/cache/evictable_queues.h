// cache/evictable_queues.h
//
// EvictableQueues holds the experts that may be evicted in queues, in each the one unused longest
// first. Doubly linked lists through one array: all is O(1), and nothing is allocated after the
// constructor.

#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace runahead {

class EvictableQueues {
 public:
  EvictableQueues(int32_t n_layer, int32_t n_expert, int32_t n_queue);

  [[nodiscard]] bool contains(ExpertId id) const { return at(index_of(id)).next != -1; }
  [[nodiscard]] bool empty(int32_t queue) const {
    return at(head_of(queue)).next == head_of(queue);
  }
  // REQUIRES: !empty(queue).
  [[nodiscard]] ExpertId front(int32_t queue) const;

  // REQUIRES: no queue has `id`.
  void push(int32_t queue, ExpertId id);
  // REQUIRES: contains(id).
  void erase(ExpertId id);
  // Moves all of `from`, in their order, to the end of `to`.
  void append(int32_t from, int32_t to);

 private:
  // links_[layer * n_expert + expert], then one per queue: its head. A queue is a ring through its
  // head, whose next is the oldest and whose previous is the newest. next == -1: in no queue.
  struct Link {
    int32_t previous = -1;
    int32_t next = -1;
  };
  [[nodiscard]] int32_t index_of(ExpertId id) const { return id.layer * n_expert_ + id.expert; }
  [[nodiscard]] int32_t head_of(int32_t queue) const { return n_index_ + queue; }
  [[nodiscard]] Link& at(int32_t index) { return links_[static_cast<size_t>(index)]; }
  [[nodiscard]] const Link& at(int32_t index) const { return links_[static_cast<size_t>(index)]; }

  int32_t n_expert_;
  int32_t n_index_;
  std::vector<Link> links_;
};

}  // namespace runahead
