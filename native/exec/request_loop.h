// exec/request_loop.h
//
// RequestLoop moves active requests on: admits those that wait, prefills one chunk, decodes one
// step, takes the tokens. What goes wrong for one request ends that request. Engine thread only,
// but for n_steps().

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "exec/request_table.h"
#include "exec/stepper.h"
#include "exec/tracer.h"
#include "model/vocab.h"

namespace runahead {

class RequestLoop {
 public:
  // All outlive this.
  RequestLoop(Stepper& stepper, RequestTable& requests, Tracer& tracer, const Vocab& vocab,
              const Hparams& hparams, int32_t max_requests);

  // Requests join and leave here; then one prefill chunk, then one step of all that decode.
  void turn();
  [[nodiscard]] bool idle() const { return active_.empty(); }
  void cancel_all();
  [[nodiscard]] uint64_t n_steps() const { return n_steps_.load(std::memory_order_relaxed); }

 private:
  void admit();
  void prefill_one();
  void decode_all();
  // Makes the KV cache longer by a token; false: no memory, the request has ended.
  bool has_room(Request& request);
  void take_token(Request& request, std::span<const float> logits);
  int32_t next_token(Request& request, std::span<const float> logits) const;
  void finish_result(const Stepper::Result& result);
  void forget_finished();
  void finish(Request& request, const char* reason, const std::string& detail);
  void fail_all(const std::string& why);

  Stepper& stepper_;
  RequestTable& requests_;
  Tracer& tracer_;
  const Vocab& vocab_;
  const Hparams& hparams_;
  std::vector<std::unique_ptr<Request>> active_;
  std::vector<int32_t> free_rows_;  // of the residual state
  size_t next_prefill_ = 0;
  bool told_waves_ = false;
  std::vector<float> logits_;
  std::atomic<uint64_t> n_steps_{0};
};

}  // namespace runahead
