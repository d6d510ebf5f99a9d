// exec/request_table.h
//
// RequestTable is where callers and the engine thread meet: queued and active requests, sessions,
// events. One mutex guards it all and is held for moments only.
//
// Always true: a session has at most one request, and outlives it; a request is in the queue, with
// the engine thread, or gone. Bounds: kMaxQueued requests wait; a request makes at most one event
// per token and two more, so events are bounded by what was asked for.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "exec/engine_event.h"
#include "exec/request.h"

namespace runahead {

class RequestTable {
 public:
  static constexpr size_t kMaxQueued = 1024;
  static constexpr size_t kMaxSessions = 1024;

  using MakeSession = std::function<std::unique_ptr<Session>()>;
  explicit RequestTable(MakeSession make_session) : make_session_(std::move(make_session)) {}

  // Callers. Throw Error(kInvalid) for an unknown or busy session, or too many of them.
  int32_t submit(std::unique_ptr<Request> request);
  int32_t open_session();
  // A running request of the session is cancelled first.
  void close_session(int32_t session);
  // One that waits ends at once, one that runs before its next layer. Unknown: it has just ended.
  void cancel(int32_t request);
  // Cancels all, and ends every wait; nothing is accepted from now on.
  void close();
  // True when poll() would return something.
  bool wait(double timeout_s);
  std::vector<EngineEvent> poll();
  // Of a finished keep_logits request, then forgotten.
  std::vector<float> take_logits(int32_t request);
  [[nodiscard]] int32_t n_queued();
  [[nodiscard]] int32_t n_active();

  // The engine thread.
  std::unique_ptr<Request> next_queued();  // nullptr: none
  void emit(EngineEvent event);
  // The request has ended: its session is free again, or gone.
  void ended(Request& request, const char* reason, const std::string& detail);

 private:
  // REQUIRES for these: the lock is held.
  void cancel_locked(int32_t id);
  Session& session_of(int32_t id);
  void end(Request& request, const char* reason, const std::string& detail);

  MakeSession make_session_;
  std::mutex mutex_;
  std::condition_variable news_;
  // Guarded by mutex_.
  std::deque<std::unique_ptr<Request>> queue_;
  std::map<int32_t, std::unique_ptr<Session>> sessions_;
  std::map<int32_t, Request*> requests_;  // queued or active
  std::map<int32_t, std::vector<float>> kept_logits_;
  std::vector<EngineEvent> events_;
  int32_t next_request_ = 0;
  int32_t next_session_ = 0;
  bool closed_ = false;
};

}  // namespace runahead
