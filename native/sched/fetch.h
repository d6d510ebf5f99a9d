// sched/fetch.h: one expert that a reader is to bring into its slot.

#pragma once

#include "base/ids.h"

namespace runahead {

struct Fetch {
  ExpertId id;
  SlotId slot;
  RequestId request;  // the first job that needed it, or the one for which it was predicted
  bool prefetch = false;
};

}  // namespace runahead
