// exec/engine_event.h: what happened, as poll() hands it out.

#pragma once

#include <cstdint>
#include <string>

namespace runahead {

struct EngineEvent {
  enum class Kind : uint8_t { kPrefill, kToken, kEnd, kNotice };
  Kind kind;
  int32_t request = -1;
  int64_t a = 0;       // prefill: tokens done; token: its id
  int64_t b = 0;       // prefill: of how many
  std::string text;    // token: its bytes; end: reason; notice: text
  std::string detail;  // end: what went wrong
};

}  // namespace runahead
