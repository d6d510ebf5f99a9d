#include "exec/request_table.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "base/error.h"

namespace runahead {

Session& RequestTable::session_of(int32_t id) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end() || found->second->closing) {
    throw Error(ErrorCode::kInvalid, "session " + std::to_string(id) + " does not exist");
  }
  return *found->second;
}

int32_t RequestTable::submit(std::unique_ptr<Request> request) {
  const std::lock_guard guard(mutex_);
  if (closed_) {
    throw Error(ErrorCode::kInvalid, "the engine is closed");
  }
  if (queue_.size() >= kMaxQueued) {
    throw Error(ErrorCode::kInvalid, std::to_string(queue_.size()) +
                                         " requests are waiting already; wait for some to end");
  }
  int32_t session = request->options.session;
  if (session < 0) {
    session = next_session_++;
    sessions_[session] = make_session_();
    sessions_[session]->temporary = true;
  }
  Session& owner = session_of(session);
  if (owner.busy) {
    throw Error(ErrorCode::kInvalid,
                "session " + std::to_string(session) + " already has a request in flight");
  }
  owner.busy = true;
  request->id = RequestId{next_request_++};
  request->session_id = session;
  request->session = &owner;
  const int32_t id = to_int(request->id);
  requests_[id] = request.get();
  queue_.push_back(std::move(request));
  return id;
}

int32_t RequestTable::open_session() {
  const std::lock_guard guard(mutex_);
  if (sessions_.size() >= kMaxSessions) {
    throw Error(ErrorCode::kInvalid,
                std::to_string(sessions_.size()) + " sessions are open; close some first");
  }
  sessions_[next_session_] = make_session_();
  return next_session_++;
}

void RequestTable::close_session(int32_t session) {
  const std::lock_guard guard(mutex_);
  Session& owner = session_of(session);
  if (!owner.busy) {
    sessions_.erase(session);
    return;
  }
  owner.closing = true;
  const auto found = std::find_if(requests_.begin(), requests_.end(), [&](const auto& entry) {
    return entry.second->session_id == session;
  });
  CHECK(found != requests_.end());
  cancel_locked(found->first);
}

void RequestTable::cancel(int32_t request) {
  const std::lock_guard guard(mutex_);
  cancel_locked(request);
}

void RequestTable::cancel_locked(int32_t id) {
  const auto found = requests_.find(id);
  if (found == requests_.end()) {
    return;
  }
  found->second->cancelled = true;
  const auto waiting = std::find_if(queue_.begin(), queue_.end(),
                                    [&](const auto& request) { return to_int(request->id) == id; });
  if (waiting != queue_.end()) {
    const std::unique_ptr<Request> request = std::move(*waiting);
    queue_.erase(waiting);
    end(*request, "cancelled", "");
  }
}

void RequestTable::close() {
  const std::lock_guard guard(mutex_);
  closed_ = true;
  news_.notify_all();
  for (const auto& [id, request] : requests_) {
    request->cancelled = true;
  }
}

bool RequestTable::wait(double timeout_s) {
  // Years would overflow the clock; not a number waits for nothing.
  const double seconds = timeout_s > 0.0 ? std::min(timeout_s, 1e6) : 0.0;
  std::unique_lock lock(mutex_);
  news_.wait_for(lock, std::chrono::duration<double>(seconds),
                 [&] { return closed_ || !events_.empty(); });
  return !events_.empty();
}

std::vector<EngineEvent> RequestTable::poll() {
  const std::lock_guard guard(mutex_);
  return std::exchange(events_, {});
}

std::vector<float> RequestTable::take_logits(int32_t request) {
  const std::lock_guard guard(mutex_);
  const auto found = kept_logits_.find(request);
  if (found == kept_logits_.end()) {
    throw Error(ErrorCode::kInvalid,
                "request " + std::to_string(request) + " has no logits to take");
  }
  std::vector<float> logits = std::move(found->second);
  kept_logits_.erase(found);
  return logits;
}

int32_t RequestTable::n_queued() {
  const std::lock_guard guard(mutex_);
  return static_cast<int32_t>(queue_.size());
}

int32_t RequestTable::n_active() {
  const std::lock_guard guard(mutex_);
  return static_cast<int32_t>(requests_.size() - queue_.size());
}

std::unique_ptr<Request> RequestTable::next_queued() {
  const std::lock_guard guard(mutex_);
  if (queue_.empty()) {
    return nullptr;
  }
  std::unique_ptr<Request> request = std::move(queue_.front());
  queue_.pop_front();
  return request;
}

void RequestTable::emit(EngineEvent event) {
  const std::lock_guard guard(mutex_);
  events_.push_back(std::move(event));
  news_.notify_all();
}

void RequestTable::ended(Request& request, const char* reason, const std::string& detail) {
  const std::lock_guard guard(mutex_);
  end(request, reason, detail);
}

void RequestTable::end(Request& request, const char* reason, const std::string& detail) {
  const int32_t id = to_int(request.id);
  requests_.erase(id);
  if (request.options.keep_logits) {
    kept_logits_[id] = std::move(request.logits);
  }
  request.session->busy = false;
  if (request.session->temporary || request.session->closing) {
    sessions_.erase(request.session_id);
  }
  events_.push_back({EngineEvent::Kind::kEnd, id, 0, 0, reason, detail});
  news_.notify_all();
}

}  // namespace runahead
