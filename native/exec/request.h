// exec/request.h
//
// Request is one generation in flight: what was asked, how far it is. Owned by the engine thread,
// but for `cancelled`.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "exec/kv_cache.h"
#include "exec/recurrent_state.h"
#include "exec/sampler.h"

namespace runahead {

// A chat or subtask: what the model keeps of it, and the tokens behind that. A new request of a
// session continues from the longest common prefix.
struct Session {
  Session(KvCache cache, RecurrentState state)
      : kv(std::move(cache)), recurrent(std::move(state)) {}
  KvCache kv;
  RecurrentState recurrent;
  std::vector<int32_t> tokens;  // whose keys and values are in kv, [kv.length()]
  bool temporary = false;       // closed with its request
  bool busy = false;            // a request is queued or active
  bool closing = false;         // close when no longer busy
};

struct RequestOptions {
  std::vector<int32_t> prompt;
  int32_t session = -1;
  int32_t max_tokens = 128;
  SamplerOptions sampler;
  bool ignore_end = false;
  std::vector<int32_t> forced;  // tests: these tokens are taken instead of sampled ones
  bool keep_logits = false;     // tests: the logits of every position are kept
};

struct Request {
  RequestId id{};
  RequestOptions options;
  int32_t session_id = -1;
  Session* session = nullptr;
  std::unique_ptr<Sampler> sampler;
  int32_t row = -1;         // of the residual state, while active
  int32_t n_prefilled = 0;  // prompt tokens whose keys and values are there
  int32_t n_generated = 0;
  int32_t next_token = -1;    // sampled, not yet computed
  std::vector<float> logits;  // keep_logits
  int64_t admitted_ns = 0;
  std::atomic<bool> cancelled{false};

  [[nodiscard]] int32_t n_prompt() const { return static_cast<int32_t>(options.prompt.size()); }
};

}  // namespace runahead
