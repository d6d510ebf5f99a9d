#include "exec/request_loop.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace runahead {

RequestLoop::RequestLoop(Stepper& stepper, RequestTable& requests, Tracer& tracer,
                         const Vocab& vocab, const Hparams& hparams, int32_t max_requests)
    : stepper_(stepper), requests_(requests), tracer_(tracer), vocab_(vocab), hparams_(hparams) {
  for (int32_t row = max_requests - 1; row >= 0; --row) {
    free_rows_.push_back(row);
  }
}

void RequestLoop::turn() {
  try {
    for (const auto& request : active_) {
      if (request->cancelled.load(std::memory_order_relaxed)) {
        finish(*request, "cancelled", "");
      }
    }
    forget_finished();
    admit();
    prefill_one();
    decode_all();
  } catch (const std::exception& error) {
    fail_all(error.what());
  }
}

void RequestLoop::cancel_all() {
  for (auto& request : active_) {
    finish(*request, "cancelled", "");
  }
  active_.clear();
}

void RequestLoop::admit() {
  while (!free_rows_.empty()) {
    std::unique_ptr<Request> request = requests_.next_queued();
    if (request == nullptr) {
      return;
    }
    request->admitted_ns = now_ns();
    request->row = free_rows_.back();
    free_rows_.pop_back();
    // A session goes on from what it already holds; at least the last token is computed, for its
    // logits.
    Session& session = *request->session;
    const std::vector<int32_t>& prompt = request->options.prompt;
    const auto mismatch = std::mismatch(session.tokens.begin(), session.tokens.end(),
                                        prompt.begin(), prompt.end() - 1);
    // A recurrent state may have to go back further than the tokens differ.
    request->n_prefilled =
        session.recurrent.rewind(static_cast<int32_t>(mismatch.first - session.tokens.begin()));
    session.tokens.resize(static_cast<size_t>(request->n_prefilled));
    if (session.kv.capacity() > 0) {
      session.kv.set_length(request->n_prefilled);
    }
    active_.push_back(std::move(request));
  }
}

void RequestLoop::prefill_one() {
  // Chats that wait for their prompt take turns, one chunk each, between steps of those that
  // decode.
  const size_t n = active_.size();
  for (size_t i = 0; i < n; ++i) {
    Request& request = *active_[(next_prefill_ + i) % n];
    if (request.n_prefilled == request.n_prompt()) {
      continue;
    }
    next_prefill_ = (next_prefill_ + i + 1) % n;
    Stepper::Result result;
    try {
      if (request.n_prefilled == 0) {
        // Room for the whole reply at once, as far as it is known.
        request.session->kv.reserve(request.n_prompt() +
                                    std::min(request.options.max_tokens, 1024));
        request.session->recurrent.reserve();
      }
      result = stepper_.prefill(request, logits_);
    } catch (const std::exception& error) {  // no memory, or the device failed
      result = {&request, false, error.what()};
    }
    if (!result.left()) {
      requests_.emit({EngineEvent::Kind::kPrefill, to_int(request.id), request.n_prefilled,
                      request.n_prompt(), "", ""});
      if (request.n_prefilled == request.n_prompt()) {
        take_token(request, logits_);
      }
    }
    finish_result(result);
    return;
  }
}

void RequestLoop::decode_all() {
  std::vector<Request*> decoding;
  for (const auto& request : active_) {
    if (request->next_token >= 0 && has_room(*request)) {
      decoding.push_back(request.get());
    }
  }
  forget_finished();
  if (decoding.empty()) {
    return;
  }
  std::vector<Stepper::Result> results;
  try {
    results = stepper_.decode(decoding, logits_);
  } catch (const std::exception& error) {  // the device failed, so it did for all of the step
    for (Request* request : decoding) {
      finish(*request, "error", error.what());
    }
    forget_finished();
    return;
  }
  if (stepper_.used_waves() && !told_waves_) {
    requests_.emit(
        {EngineEvent::Kind::kNotice, -1, 0, 0,
         "The expert cache is too small for " + std::to_string(decoding.size()) +
             " requests to run ahead of each other; they share waves of experts until it is "
             "larger.",
         ""});
  }
  told_waves_ = stepper_.used_waves();
  n_steps_.fetch_add(1, std::memory_order_relaxed);
  const int64_t begin = now_ns();
  size_t column = 0;
  for (const Stepper::Result& result : results) {
    if (!result.left()) {
      const auto n_vocab = static_cast<size_t>(hparams_.n_vocab);
      take_token(*result.request, std::span(logits_).subspan(column * n_vocab, n_vocab));
      ++column;
    }
  }
  tracer_.span(Event::kSample, begin, -1, -1, static_cast<int64_t>(column), 0);
  for (const Stepper::Result& result : results) {
    finish_result(result);
  }
}

bool RequestLoop::has_room(Request& request) {
  try {
    request.session->kv.reserve(request.session->kv.length() + 1);
    return true;
  } catch (const Error& error) {
    finish(request, "error", error.what());
    return false;
  }
}

void RequestLoop::take_token(Request& request, std::span<const float> logits) {
  if (request.options.keep_logits && request.n_generated > 0) {
    request.logits.insert(request.logits.end(), logits.begin(), logits.end());
  }
  if (request.n_generated == request.options.max_tokens) {
    finish(request, "length", "");
    return;
  }
  int32_t token = -1;
  try {
    token = next_token(request, logits);
  } catch (const std::exception& error) {
    finish(request, "error", error.what());
    return;
  }
  ++request.n_generated;
  request.next_token = token;
  if (!request.options.ignore_end && vocab_.is_end(token)) {
    finish(request, "stop", "");
    return;
  }
  requests_.emit({EngineEvent::Kind::kToken, to_int(request.id), token, 0,
                  token < vocab_.size() ? vocab_.piece(token, false) : "", ""});
  // The last token needs no further step, unless its logits are wanted.
  if (request.n_generated == request.options.max_tokens && !request.options.keep_logits) {
    finish(request, "length", "");
  }
}

int32_t RequestLoop::next_token(Request& request, std::span<const float> logits) const {
  const auto place = static_cast<size_t>(request.n_generated);
  if (place >= request.options.forced.size()) {
    return request.sampler->sample(logits);
  }
  request.sampler->accept(request.options.forced[place]);
  return request.options.forced[place];
}

void RequestLoop::finish_result(const Stepper::Result& result) {
  if (result.cancelled) {
    finish(*result.request, "cancelled", "");
  } else if (!result.error.empty()) {
    finish(*result.request, "error", result.error);
  }
  forget_finished();
}

void RequestLoop::forget_finished() {
  std::erase_if(active_, [](const auto& request) { return request->row < 0; });
}

void RequestLoop::finish(Request& request, const char* reason, const std::string& detail) {
  tracer_.span(Event::kRequest, request.admitted_ns, to_int(request.id), -1, request.n_prompt(),
               request.n_generated);
  free_rows_.push_back(request.row);
  request.row = -1;
  requests_.ended(request, reason, detail);
}

void RequestLoop::fail_all(const std::string& why) {
  for (auto& request : active_) {
    if (request->row >= 0) {
      finish(*request, "error", why);
    }
  }
  active_.clear();
}

}  // namespace runahead
