#include "exec/stepper.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/clock.h"
#include "base/error.h"

namespace runahead {

bool Stepper::all_cancelled(const std::vector<State>& states) {
  return std::all_of(states.begin(), states.end(),
                     [](const State& state) { return state.request->cancelled.load(); });
}

Lane Stepper::lane_of(const Request& request) const {
  // The mask already shows the token that is being computed.
  Session& session = *request.session;
  return {request.row, &session.kv, &session.recurrent, session.kv.length() - 1};
}

void Stepper::wait(std::unique_lock<std::mutex>& lock) {
  const int64_t begin = now_ns();
  feed_.wait(lock);
  waited_ns_ += now_ns() - begin;
}

bool Stepper::start_step(const std::vector<State>& states) {
  std::vector<RequestId> ids;
  for (const State& state : states) {
    ids.push_back(state.request->id);
  }
  std::unique_lock lock = feed_.lock();
  const ExpertCache& cache = feed_.cache();
  while (!feed_.scheduler().can_start(static_cast<int32_t>(ids.size()))) {
    // Fetches that cancelled jobs left behind may hold the slots: they end by themselves.
    bool ending = false;
    for (int32_t c = 0; c < cache.n_class(); ++c) {
      ending = ending || cache.lent(c) > 0;
    }
    // On a slow link that takes long, and who was cancelled must not wait for it.
    if (!ending || all_cancelled(states)) {
      return false;
    }
    wait(lock);
  }
  feed_.serve_waves(false);
  feed_.set_step(step_);
  feed_.scheduler().step_started(ids);
  // Graphs compute what the prefetcher or the log wants.
  prefetcher_needs_ = feed_.scheduler().score_needs();
  const ScoreNeeds log_needs = routing_log_.needs();
  forward_.set_scores({prefetcher_needs_.probabilities || log_needs.probabilities,
                       std::max(prefetcher_needs_.n_lookahead, log_needs.n_lookahead)});
  return true;
}

std::vector<Stepper::Result> Stepper::decode(std::span<Request* const> requests,
                                             std::vector<float>& logits) {
  const int64_t begin = now_ns();
  tracer_.set_step(++step_);
  (void)forward_.take_device_ns();
  waited_ns_ = 0;
  (void)waves_.take_waited_ns();
  n_groups_ = 0;
  std::vector<State> states;
  for (Request* request : requests) {
    KvCache& kv = request->session->kv;
    kv.set_length(kv.length() + 1);
    states.push_back({request, {}, {}, "", false});
  }
  // Columns of similar length stand together, so that fewer shapes of graphs are needed.
  std::stable_sort(states.begin(), states.end(), [](const State& a, const State& b) {
    return kv_bucket(a.request->session->kv.length()) < kv_bucket(b.request->session->kv.length());
  });
  used_waves_ = !start_step(states);
  try {
    if (used_waves_) {
      forward_.set_scores({});
      decode_by_waves(states);
    } else {
      decode_by_scheduler(states);
    }
  } catch (...) {
    abandon_step(states);
    throw;
  }

  Batch finished;
  std::vector<Result> results;
  for (State& state : states) {
    KvCache& kv = state.request->session->kv;
    Result result{state.request, state.cancelled, state.error};
    if (result.left()) {
      kv.set_length(kv.length() - 1);  // what was written for the token is not whole
    } else {
      state.request->session->tokens.push_back(state.request->next_token);
      state.request->session->recurrent.advance(kv.length());
      finished.lanes.push_back(lane_of(*state.request));
    }
    results.push_back(std::move(result));
  }
  finished.n = static_cast<int32_t>(finished.lanes.size());
  logits.resize(finished.lanes.size() * static_cast<size_t>(hparams_.n_vocab));
  if (finished.n > 0) {
    std::vector<int32_t> columns(finished.lanes.size());
    std::iota(columns.begin(), columns.end(), 0);
    const int64_t head = now_ns();
    forward_.head(finished, columns, logits);
    tracer_.span(Event::kHead, head, -1, -1, finished.n, 0);
  }
  // What is neither the device nor waiting is ours: scheduling, cache, graphs, trace.
  const int64_t own_ns =
      now_ns() - begin - forward_.take_device_ns() - waited_ns_ - waves_.take_waited_ns();
  tracer_.span(Event::kScheduler, now_ns() - own_ns, -1, -1, 0, 0);
  tracer_.span(Event::kStep, begin, -1, -1, static_cast<int64_t>(requests.size()), n_groups_);
  return results;
}

void Stepper::abandon_step(std::vector<State>& states) {
  const auto lock = feed_.lock();
  feed_.forget_reports();
  for (State& state : states) {
    feed_.scheduler().cancel(state.request->id);
    KvCache& kv = state.request->session->kv;
    kv.set_length(kv.length() - 1);
  }
}

void Stepper::issue(std::span<State* const> states, int32_t layer, const RoutingResult& routing) {
  const auto k = static_cast<size_t>(hparams_.n_expert_used);
  const auto n_expert = static_cast<size_t>(hparams_.n_expert);
  const auto n_ahead = static_cast<size_t>(prefetcher_needs_.n_lookahead) * n_expert;
  lookahead_.clear();
  lookahead_.reserve(states.size() * routing.lookahead.size() * n_expert);  // spans look into it
  routed_.clear();
  for (size_t column = 0; column < states.size(); ++column) {
    if (states[column] == nullptr) {
      continue;
    }
    State& state = *states[column];
    const auto begin = static_cast<ptrdiff_t>(column * k);
    const auto end = begin + static_cast<ptrdiff_t>(k);
    state.experts.assign(routing.experts.begin() + begin, routing.experts.begin() + end);
    state.weights.assign(routing.weights.begin() + begin, routing.weights.begin() + end);
    RouterScores scores = scores_of(routing, column);
    routing_log_.add(step_, {state.request->id, layer, state.experts, scores.probabilities,
                             scores.lookahead, 0});
    scores.lookahead = scores.lookahead.first(std::min(scores.lookahead.size(), n_ahead));
    routed_.push_back({state.request->id, state.experts, scores});
  }
  const auto issued = feed_.scheduler().routed(layer, routed_);
  feed_.issued(issued);
  for (size_t i = 0; i < routed_.size(); ++i) {
    tracer_.cache_decisions(routed_[i].request, issued.subspan(i * k, k), hparams_.n_expert);
  }
}

RouterScores Stepper::scores_of(const RoutingResult& routing, size_t column) {
  const auto n_expert = static_cast<size_t>(hparams_.n_expert);
  const auto of_column = [&](const std::vector<float>& all) {
    return all.empty() ? std::span<const float>()
                       : std::span(all).subspan(column * n_expert, n_expert);
  };
  const size_t begin = lookahead_.size();
  for (const std::vector<float>& router : routing.lookahead) {
    const auto scores = of_column(router);
    lookahead_.insert(lookahead_.end(), scores.begin(), scores.end());
  }
  return {of_column(routing.probabilities), std::span(lookahead_).subspan(begin)};
}

void Stepper::leave_cancelled(std::vector<State>& states) {
  for (State& state : states) {
    if (!state.cancelled && state.request->cancelled.load(std::memory_order_relaxed)) {
      state.cancelled = true;
      feed_.scheduler().cancel(state.request->id);
    }
  }
}

void Stepper::leave_failed(std::vector<State>& states) {
  for (const ExpertFeed::Failure& failure : feed_.take_failures()) {
    for (State& state : states) {
      if (std::find(failure.requests.begin(), failure.requests.end(), state.request->id) !=
          failure.requests.end()) {
        state.error = failure.message;
      }
    }
  }
}

Batch Stepper::front(const std::vector<State>& states, RoutingResult& routing) {
  Batch batch;
  std::vector<int32_t> tokens;
  for (const State& state : states) {
    batch.lanes.push_back(lane_of(*state.request));
    tokens.push_back(state.request->next_token);
  }
  batch.n = static_cast<int32_t>(states.size());
  const int64_t begin = now_ns();
  forward_.front(batch, tokens, routing);
  tracer_.span(Event::kFront, begin, -1, 0, batch.n, 0);
  return batch;
}

void Stepper::decode_by_scheduler(std::vector<State>& states) {
  std::map<RequestId, State*> by_id;
  for (State& state : states) {
    by_id[state.request->id] = &state;
  }
  RoutingResult routing;
  Batch batch = front(states, routing);

  std::unique_lock lock = feed_.lock();
  Scheduler& scheduler = feed_.scheduler();
  std::vector<State*> columns;
  for (State& state : states) {
    columns.push_back(&state);
  }
  issue(columns, 0, routing);
  std::vector<int32_t> experts;
  std::vector<int32_t> slots;
  std::vector<float> weights;
  while (true) {
    leave_failed(states);
    leave_cancelled(states);
    const std::optional<Group> group = scheduler.next_group();
    if (!group) {
      if (scheduler.step_finished()) {
        return;
      }
      wait(lock);
      continue;
    }
    batch.lanes.clear();
    experts.clear();
    slots.clear();
    weights.clear();
    int64_t members = 0;
    for (const RequestId id : group->requests) {
      const State& state = *by_id[id];
      batch.lanes.push_back(lane_of(*state.request));
      for (const int32_t expert : state.experts) {
        slots.push_back(to_int(*feed_.cache().slot_of({group->layer, expert})));
      }
      experts.insert(experts.end(), state.experts.begin(), state.experts.end());
      weights.insert(weights.end(), state.weights.begin(), state.weights.end());
      members |= int64_t{1} << (to_int(id) % 32);
    }
    batch.n = static_cast<int32_t>(group->requests.size());
    lock.unlock();

    const bool last_layer = group->layer == hparams_.n_job() - 1;
    const int64_t begin = now_ns();
    try {
      forward_.job(Start::kExperts, group->layer, batch, {experts, slots, weights},
                   last_layer ? nullptr : &routing);
    } catch (...) {
      lock.lock();
      scheduler.group_finished(*group, true);
      throw;
    }
    tracer_.span(Event::kGroup, begin, -1, group->layer, batch.n, members);
    ++n_groups_;

    lock.lock();
    scheduler.group_finished(*group, last_layer);
    if (!last_layer) {
      columns.clear();
      for (const RequestId id : group->requests) {
        columns.push_back(scheduler.has_left(id) ? nullptr : by_id[id]);
      }
      issue(columns, group->layer + 1, routing);
    }
  }
}

void Stepper::decode_by_waves(std::vector<State>& states) {
  RoutingResult routing;
  Batch batch = front(states, routing);
  std::vector<State*> going;  // by column
  for (State& state : states) {
    going.push_back(&state);
  }
  const auto stop = [&] {
    return std::all_of(going.begin(), going.end(),
                       [](const State* state) { return state->request->cancelled.load(); });
  };
  for (int32_t layer = 0; layer < hparams_.n_job(); ++layer) {
    std::optional<ExpertFeed::Failure> failure;
    while (!waves_.run(step_, layer, batch, states.front().request->id, routing, -1, failure, stop,
                       n_groups_)) {
      if (!failure) {
        for (State* state : going) {
          state->cancelled = true;
        }
        return;
      }
      leave_who_needs(*failure, going, batch, routing);
      if (going.empty()) {
        return;
      }
      failure.reset();
    }
    const bool last_layer = layer == hparams_.n_job() - 1;
    const int64_t begin = now_ns();
    forward_.job(Start::kCombine, layer, batch, {{}, {}, routing.weights},
                 last_layer ? nullptr : &routing);
    tracer_.span(Event::kGroup, begin, -1, layer, batch.n, 0);
  }
  for (State* state : going) {
    state->cancelled = state->request->cancelled.load(std::memory_order_relaxed);
  }
}

void Stepper::leave_who_needs(const ExpertFeed::Failure& failure, std::vector<State*>& going,
                              Batch& batch, RoutingResult& routing) const {
  const auto k = static_cast<ptrdiff_t>(hparams_.n_expert_used);
  for (size_t column = going.size(); column-- > 0;) {
    const auto place = static_cast<ptrdiff_t>(column);
    const auto begin = routing.experts.begin() + place * k;
    if (std::find(begin, begin + k, failure.id.expert) == begin + k) {
      continue;
    }
    going[column]->error = failure.message;
    going.erase(going.begin() + place);
    batch.lanes.erase(batch.lanes.begin() + place);
    routing.experts.erase(begin, begin + k);
    const auto weights = routing.weights.begin() + place * k;
    routing.weights.erase(weights, weights + k);
  }
  batch.n = static_cast<int32_t>(going.size());
}

}  // namespace runahead
