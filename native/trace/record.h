// trace/record.h
//
// Record is the one fixed-size entry of the trace: what happened, when, to which layer, expert and
// request. Python views drained bytes as a numpy record array with the same fields (bind/ hands out
// the dtype), so a field added here appears there by itself.

#pragma once

#include <cstdint>

namespace runahead {

enum class Event : uint8_t {
  kStep,    // one decode step: begin..end; a = requests, b = groups
  kFront,   // attention and router of layer 0: a = requests
  kGroup,   // one group on the device: layer, a = jobs, b = bit mask of request % 32
  kHead,    // LM head: a = rows
  kSample,  // sampling of one step: a = requests
  kFetch,   // one demand read, or a part of one: layer, expert, request = first job that needed it;
            // a = bytes, b = slot
  kPrefetch,   // one predicted read: as kFetch
  kHit,        // cache decisions, instant (begin == end): layer, expert, request; a = slot
  kJoin,       //   the expert was already being fetched
  kMiss,       //   a slot was reserved; b = evicted expert's layer * n_expert + expert, or -1
  kEvict,      //   an expert left because the cache shrank
  kPrefill,    // one prefill chunk: request, a = tokens, b = waves
  kWave,       // one expert wave on the device: layer, request, a = experts, b = token-expert pairs
  kScheduler,  // time spent in scheduling, cache and trace code in one step (end - begin)
  kRequest,    // a request from admission to its end: a = prompt tokens, b = generated tokens
  kResize,     // cache resized: a = slots before, b = slots after
  kFault,      // a read failed: layer, expert
};

// Lane 0 is the device (engine thread); lanes 1.. are the readers.
struct Record {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int32_t step = -1;     // decode step, -1 outside
  int32_t request = -1;  // RequestId, -1 where it does not apply
  int32_t layer = -1;
  int32_t expert = -1;
  int64_t a = 0;
  int64_t b = 0;
  uint8_t event = 0;  // Event
  uint8_t lane = 0;
  uint16_t part =
      0;  // kFetch, kPrefetch: 0 for the first bytes of the record, so it counts records
  uint32_t reserved = 0;
};
static_assert(sizeof(Record) == 56);

}  // namespace runahead
