#include "sched/scheduler.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace runahead {

Scheduler::Scheduler(const Policy& policy, ExpertCache& cache, const ModelShape& shape)
    : policy_(policy),
      shape_(shape),
      runahead_(policy.schedule == "runahead"),
      unit_sizes_(static_group_sizes(policy.schedule)),
      cache_(cache),
      prefetches_(policy.prefetch, shape, cache) {
  validate(policy);
  compute_order_ =
      policy.compute_order == "fifo" ? ComputeOrder::kFifo : ComputeOrder::kLowestLayer;
  fetch_order_ = policy.fetch_order == "fifo"          ? FetchOrder::kFifo
                 : policy.fetch_order == "global-srtf" ? FetchOrder::kGlobalSrtf
                                                       : FetchOrder::kLayerSrtf;
}

void Scheduler::step_started(std::span<const RequestId> requests) {
  CHECK(step_finished() && queue_.empty());
  n_jobs_ = requests.size();
  if (jobs_.size() < n_jobs_) {
    jobs_.resize(n_jobs_);
  }
  for (size_t i = 0; i < n_jobs_; ++i) {
    CHECK(std::find(requests.begin() + static_cast<std::ptrdiff_t>(i) + 1, requests.end(),
                    requests[i]) == requests.end());
    Job& job = jobs_[i];
    std::vector<Need> needs = std::move(job.needs);  // keeps its memory
    needs.clear();
    job = Job{};
    job.request = requests[i];
    job.unit = unit_of(i);
    job.needs = std::move(needs);
  }
  cache_.step_started();
  prefetches_.step_started(requests);
}

std::span<const IssuedExpert> Scheduler::routed(int32_t layer,
                                                std::span<const RoutedRequest> routed) {
  // Who acquires first must not evict what another is about to hit. This needs no slot that the
  // deadlock rule does not grant: an expert held here is one of its job's n_expert_used, so held
  // and acquired ones together are at most requests * n_expert_used different experts.
  held_.clear();
  for (const RoutedRequest& job : routed) {
    for (const int32_t expert : job.experts) {
      if (cache_.hold({layer, expert})) {
        held_.push_back({layer, expert});
      }
    }
  }
  issued_.clear();
  for (const RoutedRequest& job : routed) {
    issue(job, layer);
  }
  for (const ExpertId id : held_) {
    cache_.release(id);  // a job has pinned it by now
  }
  return issued_;
}

void Scheduler::issue(const RoutedRequest& routed, int32_t layer) {
  Job* job = find(routed.request);
  CHECK(job != nullptr && !job->has_left && job->state == JobState::kRouting);
  CHECK(layer > job->layer);
  job->layer = layer;
  job->n_missing = 0;
  job->n_queued = 0;
  job->needs.clear();
  for (const int32_t expert : routed.experts) {
    const ExpertId id{layer, expert};
    for (const Need& need : job->needs) {
      CHECK(need.id != id);
    }
    const std::optional<Acquired> acquired = cache_.acquire(id);
    CHECK(acquired.has_value());  // the deadlock rule
    if (acquired->outcome == Outcome::kMiss) {
      queue_.push_back({id, acquired->slot, routed.request});
    }
    Need need{id};
    need.missing = acquired->outcome != Outcome::kHit;
    need.queued = need.missing && find_queued(id) != queue_.end();
    // A prefetch that a job now waits for is a prefetch no more.
    if (need.missing && !need.queued &&
        std::find(in_flight_.begin(), in_flight_.end(), id) == in_flight_.end()) {
      in_flight_.push_back(id);
    }
    job->n_missing += need.missing ? 1 : 0;
    job->n_queued += need.queued ? 1 : 0;
    job->needs.push_back(need);
    issued_.push_back({id, *acquired});
  }
  if (job->n_missing > 0) {
    job->state = JobState::kBlocked;
  } else {
    become_ready(*job);
  }
  const RouterScores& scores = routed.scores;
  prefetches_.routed(
      {routed.request, layer, routed.experts, scores.probabilities, scores.lookahead, n_queued()});
  let_prefetches_go();
}

std::optional<Fetch> Scheduler::next_fetch() {
  if (queue_.empty()) {
    return link_has_room() ? prefetches_.next(slots_needed_by_step()) : std::nullopt;
  }
  const auto chosen = choose_fetch();
  const Fetch fetch{chosen->id, chosen->slot, chosen->request};
  queue_.erase(chosen);
  in_flight_.push_back(fetch.id);
  for_each_waiting(fetch.id, [](Job& job, Need& need) {
    need.queued = false;
    --job.n_queued;
  });
  return fetch;
}

bool Scheduler::may_prefetch() const {
  return queue_.empty() && link_has_room() && prefetches_.may_fetch(slots_needed_by_step());
}

int32_t Scheduler::n_queued() const {
  return static_cast<int32_t>(queue_.size());
}

bool Scheduler::fetch_finished(ExpertId id) {
  cache_.publish(id);
  std::erase(in_flight_, id);
  prefetches_.fetched(id);
  bool some_ready = false;
  for_each_waiting(id, [&](Job& job, Need& need) {
    CHECK(!need.queued);
    need.missing = false;
    if (--job.n_missing == 0) {
      become_ready(job);
      some_ready = true;
    }
  });
  return some_ready;
}

std::vector<RequestId> Scheduler::fetch_failed(ExpertId id) {
  cache_.fail(id);  // forgets the pins of all jobs below
  std::erase(in_flight_, id);
  prefetches_.failed(id);
  std::vector<RequestId> left;
  for_each_waiting(id, [&](Job& job, Need& need) {
    CHECK(!need.queued);
    job.needs.erase(job.needs.begin() + (&need - job.needs.data()));
    leave(job);
    left.push_back(job.request);
  });
  return left;
}

std::optional<Group> Scheduler::next_group() {
  const Job* chosen = choose_job();
  if (chosen == nullptr) {
    return std::nullopt;
  }
  Group group;
  group.layer = chosen->layer;
  const int32_t unit = chosen->unit;
  for (Job& job : jobs()) {
    if (!job.has_left && job.state == JobState::kReady && job.layer == group.layer &&
        job.unit == unit) {
      job.state = JobState::kRunning;
      group.requests.push_back(job.request);
    }
  }
  return group;
}

void Scheduler::group_finished(const Group& group, bool last_layer) {
  for (const RequestId request : group.requests) {
    Job* job = find(request);
    CHECK(job != nullptr && job->state == JobState::kRunning && job->layer == group.layer);
    release_pins(*job);
    job->state = last_layer ? JobState::kDone : JobState::kRouting;
    if (job->cancelled) {
      leave(*job);
    }
  }
}

void Scheduler::cancel(RequestId request) {
  Job* job = find(request);
  if (job == nullptr || job->has_left) {
    return;
  }
  if (job->state == JobState::kRunning) {
    job->cancelled = true;
  } else {
    leave(*job);
  }
}

bool Scheduler::has_left(RequestId request) const {
  const Job* job = find(request);
  return job == nullptr || job->has_left;
}

bool Scheduler::step_finished() const {
  return std::all_of(jobs().begin(), jobs().end(),
                     [](const Job& job) { return job.has_left || job.state == JobState::kDone; });
}

int32_t Scheduler::slots_needed(int32_t n_requests, int32_t n_expert_used) {
  return n_requests * n_expert_used;
}

bool Scheduler::can_start(int32_t n_requests) const {
  const int32_t needed = slots_needed(n_requests, shape_.n_expert_used);
  const std::vector<int32_t>& classes = cache_.geometry().class_of_layer;
  for (int32_t c = 0; c < cache_.n_class(); ++c) {
    const auto n_layer = static_cast<int32_t>(std::count(classes.begin(), classes.end(), c));
    const bool holds_all = cache_.capacity(c) >= n_layer * cache_.geometry().n_expert;
    if (!holds_all && cache_.capacity(c) - cache_.lent(c) < needed) {
      return false;
    }
  }
  return true;
}

std::vector<JobStatus> Scheduler::progress_table() const {
  std::vector<JobStatus> table;
  table.reserve(n_jobs_);
  for (const Job& job : jobs()) {
    if (!job.has_left) {
      table.push_back({job.request, job.layer, job.state, job.n_missing});
    }
  }
  return table;
}

const Policy& Scheduler::policy() const {
  return policy_;
}

Scheduler::Job* Scheduler::find(RequestId request) {
  return const_cast<Job*>(std::as_const(*this).find(request));
}

const Scheduler::Job* Scheduler::find(RequestId request) const {
  for (const Job& job : jobs()) {
    if (job.request == request) {
      return &job;
    }
  }
  return nullptr;
}

std::vector<Scheduler::Queued>::iterator Scheduler::find_queued(ExpertId id) {
  return std::find_if(queue_.begin(), queue_.end(),
                      [&](const Queued& queued) { return queued.id == id; });
}

std::vector<Scheduler::Queued>::iterator Scheduler::choose_fetch() {
  if (fetch_order_ == FetchOrder::kFifo) {
    return queue_.begin();
  }
  const bool by_layer = fetch_order_ == FetchOrder::kLayerSrtf;
  const auto key = [&](const Job& job) {
    return by_layer ? std::pair(job.layer, job.n_missing) : std::pair(job.n_missing, job.layer);
  };
  const Job* first = nullptr;
  for (const Job& job : jobs()) {
    if (job.n_queued > 0 && (first == nullptr || key(job) < key(*first))) {
      first = &job;
    }
  }
  CHECK(first != nullptr);
  const auto need = std::find_if(first->needs.begin(), first->needs.end(),
                                 [](const Need& n) { return n.queued; });
  return find_queued(need->id);
}

const Scheduler::Job* Scheduler::choose_job() const {
  const Job* first = nullptr;
  for (const Job& job : jobs()) {
    if (job.has_left || job.state != JobState::kReady) {
      continue;
    }
    const bool before = first == nullptr || (compute_order_ == ComputeOrder::kFifo
                                                 ? job.ready_since < first->ready_since
                                                 : job.layer < first->layer);
    if (before && (runahead_ || unit_is_ready(job.unit))) {
      first = &job;
    }
  }
  return first;
}

bool Scheduler::unit_is_ready(int32_t unit) const {
  return std::all_of(jobs().begin(), jobs().end(), [&](const Job& job) {
    return job.unit != unit || job.has_left || job.state == JobState::kReady;
  });
}

int32_t Scheduler::unit_of(size_t index) const {
  if (unit_sizes_.empty()) {
    return 0;
  }
  auto left = static_cast<int32_t>(index);
  int32_t unit = 0;
  while (left >= unit_sizes_[static_cast<size_t>(unit) % unit_sizes_.size()]) {
    left -= unit_sizes_[static_cast<size_t>(unit) % unit_sizes_.size()];
    ++unit;
  }
  return unit;
}

void Scheduler::let_prefetches_go() {
  int32_t layer = INT32_MAX;
  for (const Job& job : jobs()) {
    layer = job.has_left ? layer : std::min(layer, job.layer);
  }
  prefetches_.all_routed(layer);
}

void Scheduler::become_ready(Job& job) {
  job.state = JobState::kReady;
  job.ready_since = ++ready_clock_;
}

void Scheduler::release_pins(Job& job) {
  for (const Need& need : job.needs) {
    cache_.release(need.id);
    if (need.queued && cache_.pins(need.id) == 0) {
      queue_.erase(find_queued(need.id));
      cache_.withdraw(need.id);
    }
  }
  job.needs.clear();
  job.n_missing = 0;
  job.n_queued = 0;
}

void Scheduler::leave(Job& job) {
  release_pins(job);
  prefetches_.left(job.request);
  job.has_left = true;
  let_prefetches_go();
}

template <class F>
void Scheduler::for_each_waiting(ExpertId id, F f) {
  for (Job& job : jobs()) {
    if (job.layer != id.layer || job.n_missing == 0) {
      continue;
    }
    for (Need& need : job.needs) {
      if (need.id == id && need.missing) {
        f(job, need);
        break;  // experts of a job are distinct, and f may have changed its needs
      }
    }
  }
}

}  // namespace runahead
