#include "sim_world.h"

#include <algorithm>

#include "base/error.h"

#undef CHECK  // doctest's from here on
#include <doctest/doctest.h>

namespace runahead::test {

std::vector<int8_t> World::enabled() const {
  std::vector<int8_t> events;
  if (!setup_.eager && can_take_fetch()) {
    events.push_back(kTakeFetch);
  }
  if (!setup_.eager && !device_ && !expected_group().empty()) {
    events.push_back(kTakeGroup);
  }
  if (device_) {
    events.push_back(kFinishGroup);
  }
  for (size_t i = 0; i < in_flight_.size(); ++i) {
    events.push_back(static_cast<int8_t>(kFinishFetch + i));
  }
  return events;
}

void World::replay(const std::vector<int8_t>& path) {
  is_replay_ = true;
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    apply(path[i]);
  }
  is_replay_ = false;
  if (!path.empty()) {
    apply(path.back());
  }
}

void World::apply(int8_t event) {
  path_.push_back(event);
  switch (event) {
    case kTakeFetch: take_fetch(); break;
    case kTakeGroup: take_group(); break;
    case kFinishGroup: finish_group(); break;
    default: finish_fetch(static_cast<size_t>(event - kFinishFetch));
  }
  if (setup_.eager) {
    take_all();
  }
  check();
  if (scheduler_.step_finished()) {
    end_step();
  }
}

std::string World::key() const {
  std::string key;
  const auto put = [&](int32_t value) { key.push_back(static_cast<char>(value + 1)); };
  for (const Job& job : jobs_) {
    put(job.layer);
    put(job.running);
    put(job.done);
  }
  for (int32_t i = 0; i < kLayers * kExperts; ++i) {
    put(expert(i).loading);
    put(expert(i).ready);
  }
  const auto put_list = [&](const std::vector<int32_t>& list) {
    put(static_cast<int32_t>(list.size()));
    for (const int32_t value : list) {
      put(value);
    }
  };
  put_list(queue_);
  put_list(in_flight_);
  put_list(let_go_);
  put_list(ready_);
  return key;
}

void World::must(bool condition, const char* what) const {
  if (!condition) {
    std::string path;
    for (const int8_t event : path_) {
      path += std::to_string(event) + " ";
    }
    FAIL(what << "; " << setup_.policy << ", " << setup_.slots << " slots, path " << path);
  }
}

Experts World::needs(size_t r) const {
  const auto layer = static_cast<size_t>(jobs_[r].layer);
  Experts experts = setup_.steps[step_][r][layer];
  for (int32_t& e : experts) {
    e = index_of({jobs_[r].layer, e});
  }
  return experts;
}

int32_t World::missing(size_t r) const {
  const Experts n = needs(r);
  return static_cast<int32_t>(
      std::count_if(n.begin(), n.end(), [&](int32_t e) { return !expert(e).ready; }));
}

bool World::is_queued(int32_t e) const {
  return std::find(queue_.begin(), queue_.end(), e) != queue_.end();
}

bool World::can_take_fetch() const {
  return in_flight_.size() < kReaders && !queue_.empty();
}

void World::start_step() {
  std::vector<RequestId> requests;
  for (int32_t r = 0; r < kRequests; ++r) {
    requests.push_back(RequestId{r});
    jobs_[static_cast<size_t>(r)] = {};
  }
  n_run_ = {};
  must(scheduler_.can_start(kRequests), "the deadlock rule holds");
  scheduler_.step_started(requests);
  route({0, 1, 2}, 0);
  if (setup_.eager) {
    take_all();
  }
  check();
}

void World::end_step() {
  must(queue_.empty() && in_flight_.empty() && !device_, "nothing is left over");
  for (const auto& layers : n_run_) {
    for (const int32_t n : layers) {
      must(n == 1, "every job runs exactly once");
    }
  }
  for (int32_t i = 0; i < kLayers * kExperts; ++i) {
    must(cache_.pins(id_of(i)) == 0, "pins return to zero");
  }
  if (++step_ < setup_.steps.size()) {
    start_step();
  }
}

void World::take_all() {
  while (can_take_fetch()) {
    take_fetch();
  }
  if (!device_ && !expected_group().empty()) {
    take_group();
  }
}

void World::route(const std::vector<int32_t>& requests, int32_t layer) {
  std::vector<RoutedRequest> routed;
  for (const int32_t request : requests) {
    const auto r = static_cast<size_t>(request);
    jobs_[r] = {layer, false, false};
    routed.push_back({RequestId{request}, setup_.steps[step_][r][static_cast<size_t>(layer)]});
    for (const int32_t e : needs(r)) {
      std::erase(let_go_, e);  // none of them is evicted for another
    }
  }
  const std::span<const IssuedExpert> issued = scheduler_.routed(layer, routed);
  must(issued.size() == kUsed * requests.size(), "each expert is issued");
  for (size_t i = 0; i < requests.size(); ++i) {
    expect_issued(static_cast<size_t>(requests[i]), issued.subspan(i * kUsed, kUsed));
  }
}

void World::expect_issued(size_t r, std::span<const IssuedExpert> issued) {
  for (size_t i = 0; i < kUsed; ++i) {
    const int32_t e = needs(r)[i];
    const Acquired& acquired = issued[i].acquired;
    must(index_of(issued[i].id) == e, "issued in the order of the routing");
    must(acquired.outcome == (expert(e).ready     ? Outcome::kHit
                              : expert(e).loading ? Outcome::kJoined
                                                  : Outcome::kMiss),
         "resident is a hit, loading is joined, absent is a miss");
    if (acquired.outcome == Outcome::kMiss) {
      expect_eviction(acquired.evicted);
      expert(e).loading = true;
      queue_.push_back(e);
    }
    ++expert(e).pins;
    ++expert(e).uses;
  }
  if (missing(r) == 0) {
    ready_.push_back(static_cast<int32_t>(r));
  }
}

void World::expect_eviction(const std::optional<ExpertId>& evicted) {
  const auto in_use = std::count_if(experts_.begin(), experts_.end(),
                                    [](const Expert& e) { return e.loading || e.ready; });
  must(evicted.has_value() == (in_use == setup_.slots),
       "evicts only when the slots are all in use");
  if (!evicted) {
    return;
  }
  // let_go_ holds the unpinned residents, the one unused longest first.
  const auto victim = std::min_element(let_go_.begin(), let_go_.end(), [&](int32_t a, int32_t b) {
    return policy_.eviction == "lfu" && expert(a).uses < expert(b).uses;
  });
  must(victim != let_go_.end(), "only an unpinned ready expert can be evicted");
  const int32_t gone = index_of(*evicted);
  must(gone == *victim, policy_.eviction == "lfu" ? "the fewest uses go" : "the longest unused go");
  must(expert(gone).pins == 0 && expert(gone).ready, "never a pinned or loading expert");
  let_go_.erase(victim);
  expert(gone).ready = false;
}

int32_t World::expected_fetch() const {
  if (policy_.fetch_order == "fifo") {
    return queue_.front();
  }
  std::optional<std::array<int32_t, 3>> best;
  int32_t chosen = -1;
  for (size_t r = 0; r < kRequests; ++r) {
    const bool by_layer = policy_.fetch_order == "layer-srtf";
    const std::array<int32_t, 3> rank = {by_layer ? jobs_[r].layer : missing(r),
                                         by_layer ? missing(r) : jobs_[r].layer,
                                         static_cast<int32_t>(r)};
    for (const int32_t e : needs(r)) {
      if (!jobs_[r].done && is_queued(e) && (!best || rank < *best)) {
        best = rank;
        chosen = e;  // the first of this job: later ones are not smaller
      }
    }
  }
  return chosen;
}

void World::take_fetch() {
  const int32_t want = expected_fetch();
  const std::optional<Fetch> fetch = scheduler_.next_fetch();
  must(fetch.has_value(), "a queued expert can be fetched");
  const int32_t e = index_of(fetch->id);
  must(e == want, "the fetch order");
  must(std::find(in_flight_.begin(), in_flight_.end(), e) == in_flight_.end(),
       "nothing is fetched twice at the same time");
  must(fetch->slot == *cache_.slot_of(fetch->id), "into its own slot");
  std::erase(queue_, e);
  in_flight_.insert(std::lower_bound(in_flight_.begin(), in_flight_.end(), e), e);
}

void World::finish_fetch(size_t i) {
  const int32_t e = in_flight_[i];
  in_flight_.erase(in_flight_.begin() + static_cast<std::ptrdiff_t>(i));
  std::vector<int32_t> before;
  for (size_t r = 0; r < kRequests; ++r) {
    if (is_blocked(r)) {
      before.push_back(static_cast<int32_t>(r));
    }
  }
  expert(e).loading = false;
  expert(e).ready = true;
  bool some_ready = false;
  for (const int32_t r : before) {
    if (!is_blocked(static_cast<size_t>(r))) {
      ready_.push_back(r);
      some_ready = true;
    }
  }
  must(scheduler_.fetch_finished(id_of(e)) == some_ready, "tells whether a job became ready");
}

std::vector<int32_t> World::expected_group() const {
  if (policy_.schedule == "lockstep") {
    return ready_.size() == kRequests ? std::vector<int32_t>{0, 1, 2} : std::vector<int32_t>{};
  }
  if (ready_.empty()) {
    return {};
  }
  const auto layer_of = [&](int32_t r) { return jobs_[static_cast<size_t>(r)].layer; };
  int32_t layer = layer_of(ready_.front());
  if (policy_.compute_order == "lowest-layer") {
    for (const int32_t r : ready_) {
      layer = std::min(layer, layer_of(r));
    }
  }
  std::vector<int32_t> group;
  std::copy_if(ready_.begin(), ready_.end(), std::back_inserter(group),
               [&](int32_t r) { return layer_of(r) == layer; });
  std::sort(group.begin(), group.end());
  return group;
}

void World::take_group() {
  const std::vector<int32_t> want = expected_group();
  device_ = scheduler_.next_group();
  must(device_.has_value(), "a ready job can run");
  std::vector<int32_t> got;
  for (const RequestId request : device_->requests) {
    Job& job = jobs_[static_cast<size_t>(to_int(request))];
    must(job.layer == device_->layer, "a group is of one layer");
    job.running = true;
    got.push_back(to_int(request));
  }
  must(got == want, "all ready jobs of the chosen layer, no others");
  std::erase_if(ready_, [&](int32_t r) { return std::count(got.begin(), got.end(), r) > 0; });
}

void World::finish_group() {
  const Group group = *device_;
  device_.reset();
  const bool last = group.layer == kLayers - 1;
  for (const RequestId request : group.requests) {
    const auto r = static_cast<size_t>(to_int(request));
    ++n_run_[r][static_cast<size_t>(group.layer)];
    for (const int32_t e : needs(r)) {
      must(expert(e).ready, "a job runs with its experts resident");
      if (--expert(e).pins == 0) {
        let_go_.push_back(e);
      }
    }
    jobs_[r].running = false;
    jobs_[r].done = last;
  }
  scheduler_.group_finished(group, last);
  if (!last) {
    std::vector<int32_t> requests;
    for (const RequestId request : group.requests) {
      requests.push_back(to_int(request));
    }
    route(requests, group.layer + 1);
  }
}

void World::check() const {
  if (is_replay_) {
    return;
  }
  cache_.check_integrity();
  must(scheduler_.n_queued() == static_cast<int32_t>(queue_.size()), "the queue");
  for (int32_t i = 0; i < kLayers * kExperts; ++i) {
    const Residency residency = cache_.residency(id_of(i));
    must((residency == Residency::kLoading) == expert(i).loading, "loading");
    must((residency == Residency::kReady) == expert(i).ready, "ready");
    must(cache_.pins(id_of(i)) == expert(i).pins, "one pin per job and expert");
  }
  const std::vector<JobStatus> table = scheduler_.progress_table();
  must(table.size() == kRequests, "a row per request");
  for (size_t r = 0; r < kRequests; ++r) {
    const JobState want = jobs_[r].done      ? JobState::kDone
                          : jobs_[r].running ? JobState::kRunning
                          : missing(r) > 0   ? JobState::kBlocked
                                             : JobState::kReady;
    must(table[r].state == want && table[r].layer == jobs_[r].layer, "the Progress Table");
    must(table[r].missing == (want == JobState::kBlocked ? missing(r) : 0), "missing experts");
  }
  must(scheduler_.step_finished() || !enabled().empty(), "no deadlock");
}

}  // namespace runahead::test
