// sched/scheduler.h
//
// Scheduler is the pure state machine of runahead inference (paper section 4, Algorithm 1): events
// go in, decisions come out. It has no thread, clock or I/O; exec/ drives it with a real device and
// disk, sim/ on a virtual clock.
//
//   step_started      all active requests are about to reveal their first routing
//   routed            routers named the experts of some requests' next jobs     (Job Issuer)
//   next_fetch        a reader is free                                          (Expert Fetcher)
//   fetch_finished / fetch_failed
//   next_group        the device is free                                        (Compute Scheduler)
//   group_finished    releases the group's pins; routed() follows for each request that has not
//                     left, unless that was its last job
//
// The Progress Table (request, layer, state) is its one source of truth.
//
// How requests are grouped is the schedule's matter. A *unit* is the jobs that only run together:
//   runahead      none: all jobs of a layer that happen to be ready make a group
//   lockstep      all requests of the step
//   static:4:4    the first four requests, the next four; with more requests the sizes repeat
//
// Always true: a queued expert is loading, pinned, and needed by some blocked job; a job holds one
// pin per expert from routed() until its group has finished or its request has left.
//
// Everything is a scan over the step's jobs (requests * experts per token). Not thread-safe: the
// driver holds one lock around it and the ExpertCache.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "cache/expert_cache.h"
#include "policy/policy.h"
#include "policy/prefetcher.h"
#include "sched/fetch.h"
#include "sched/prefetch_queue.h"

namespace runahead {

enum class JobState : uint8_t {
  kRouting,  // its front or its previous job has to name the next experts; they are not known yet
  kBlocked,  // some experts are missing
  kReady,    // in the compute queue
  kRunning,  // in the group on the device
  kDone,     // the request has finished its last job of this step
};

struct JobStatus {  // one row of the Progress Table
  RequestId request;
  int32_t layer;  // of the current job; kRouting: of the previous one, -1 before the first
  JobState state;
  int32_t missing;  // experts still missing, in flight ones included
};

// The jobs of one layer computed together. Lives until group_finished.
struct Group {
  int32_t layer = -1;
  std::vector<RequestId> requests;  // in the order of step_started
};

// What issuing a job did, for the trace: parallel to the experts passed to routed().
struct IssuedExpert {
  ExpertId id;
  Acquired acquired;
};

// What routers said beside the choice, as in RoutedJob; empty where score_needs() has none.
struct RouterScores {
  std::span<const float> probabilities = {};
  std::span<const float> lookahead = {};
};

// A request whose next job is known.
struct RoutedRequest {
  RequestId request{};
  std::span<const int32_t> experts;  // distinct
  RouterScores scores = {};
};

class Scheduler {
 public:
  // `cache` outlives the scheduler. Throws Error(kInvalid) for a name that this version does not
  // know.
  Scheduler(const Policy& policy, ExpertCache& cache, const ModelShape& shape);

  // The scores that routed() is to be given, for the policy's prefetcher.
  [[nodiscard]] ScoreNeeds score_needs() const { return prefetches_.needs(); }

  // REQUIRES: no step in progress; can_start(). Every request starts as kRouting.
  void step_started(std::span<const RequestId> requests);

  // The jobs at `layer` of requests that were routed together: of a front, or of a group. Pins each
  // of their experts: resident, joined, or reserved and queued for fetching; a missing one takes
  // the slot of no expert that any of these jobs needs. Each job is then ready or blocked. All
  // experts of the first job, then of the next; valid until the next call.
  // REQUIRES: the requests are kRouting; the deadlock rule held at step_started.
  std::span<const IssuedExpert> routed(int32_t layer, std::span<const RoutedRequest> routed);

  // The expert to read next, now in flight; nullopt: none. Missing experts go first, by the fetch
  // order; then predicted ones, at most kMaxPrefetches at a time. Under runahead these wait until
  // the link is idle: no missing expert is queued or in flight (paper, section 5.5).
  //   layer-srtf    of the blocked job with the smallest (layer, missing) that has a queued expert
  //   global-srtf   of the one with the smallest (missing, layer)
  //   fifo          the expert that was queued first
  // Ties go in the order of step_started, within a job in the order of its experts.
  [[nodiscard]] std::optional<Fetch> next_fetch();
  // next_fetch() would return a predicted expert.
  [[nodiscard]] bool may_prefetch() const;
  [[nodiscard]] int32_t n_queued() const;  // missing experts waiting for a reader

  // Publishes the expert; jobs whose last missing expert this was become ready. True: some did.
  bool fetch_finished(ExpertId id);
  // The expert cannot be read: every job that needs it leaves the step (its other pins are
  // released). Returns their requests.
  std::vector<RequestId> fetch_failed(ExpertId id);
  // Both also take experts that no job here waits for: fetches in flight when their job left, or
  // begun by Waves or by an earlier Scheduler on the same cache.

  // A read of next_fetch() has ended, but whoever reads for Waves has published its expert.
  void fetch_taken_over(ExpertId id) {
    std::erase(in_flight_, id);
    prefetches_.fetched(id);
  }

  // The jobs to run next, by schedule and compute order; they are then kRunning.
  // Of the jobs that are ready with their whole unit, the compute order chooses one (lowest-layer:
  // the lowest layer; fifo: ready longest). The group is its unit, or under runahead all ready jobs
  // of its layer.
  [[nodiscard]] std::optional<Group> next_group();
  // Releases the pins of the group. Each request is then kRouting, or kDone when `last_layer`.
  void group_finished(const Group& group, bool last_layer);

  // Takes a request out of the step, for a cancel. A running job first finishes on the device: its
  // request leaves at group_finished. Pins of a blocked or ready job are released; its fetches that
  // nobody else needs are withdrawn, those in flight complete unpinned. Nothing happens when it has
  // left already.
  void cancel(RequestId request);
  // True when `request` was cancelled or failed, or was never in this step.
  [[nodiscard]] bool has_left(RequestId request) const;

  // Every remaining request is kDone (or none remain).
  [[nodiscard]] bool step_finished() const;

  // Slots that class needs so that no step can deadlock: requests * experts_per_token, no sharing
  // assumed (paper 4.4).
  [[nodiscard]] static int32_t slots_needed(int32_t n_requests, int32_t n_expert_used);
  // Whether every slot class has them, not counting slots that unpinned fetches in flight still
  // hold, or has room for all its experts. When only those fetches stand in the way, wait for them.
  // A capacity set during a step must leave this true.
  [[nodiscard]] bool can_start(int32_t n_requests) const;

  [[nodiscard]] std::vector<JobStatus> progress_table() const;
  [[nodiscard]] const Policy& policy() const;

 private:
  enum class ComputeOrder : uint8_t { kLowestLayer, kFifo };
  enum class FetchOrder : uint8_t { kLayerSrtf, kGlobalSrtf, kFifo };

  struct Need {
    ExpertId id;
    bool missing = false;
    bool queued = false;  // missing and waiting for a reader
  };
  struct Job {  // the current job of one request
    RequestId request{};
    int32_t layer = -1;
    int32_t unit = 0;  // under runahead all have the same, and need not be ready together
    JobState state = JobState::kRouting;
    bool has_left = false;
    bool cancelled = false;  // leaves at group_finished
    int32_t n_missing = 0;
    int32_t n_queued = 0;
    uint64_t ready_since = 0;  // by ready_clock_
    std::vector<Need> needs;
  };
  struct Queued {
    ExpertId id;
    SlotId slot;
    RequestId request;
  };

  [[nodiscard]] std::span<Job> jobs() { return {jobs_.data(), n_jobs_}; }
  [[nodiscard]] std::span<const Job> jobs() const { return {jobs_.data(), n_jobs_}; }
  [[nodiscard]] Job* find(RequestId request);
  [[nodiscard]] const Job* find(RequestId request) const;
  [[nodiscard]] std::vector<Queued>::iterator find_queued(ExpertId id);
  [[nodiscard]] std::vector<Queued>::iterator choose_fetch();
  [[nodiscard]] const Job* choose_job() const;
  [[nodiscard]] bool unit_is_ready(int32_t unit) const;
  [[nodiscard]] int32_t unit_of(size_t index) const;
  void issue(const RoutedRequest& routed, int32_t layer);
  void become_ready(Job& job);
  // Whether predictions may be read beside what is in flight.
  [[nodiscard]] bool link_has_room() const { return !runahead_ || in_flight_.empty(); }
  [[nodiscard]] int32_t slots_needed_by_step() const {
    return slots_needed(static_cast<int32_t>(n_jobs_), shape_.n_expert_used);
  }
  // Tells the prefetches which layers all requests have been routed at.
  void let_prefetches_go();
  void release_pins(Job& job);
  void leave(Job& job);
  // Calls f(job, need) for every blocked job that waits for `id`.
  template <class F>
  void for_each_waiting(ExpertId id, F f);

  Policy policy_;
  ModelShape shape_;
  bool runahead_;
  std::vector<int32_t> unit_sizes_;  // static schedules
  ComputeOrder compute_order_;
  FetchOrder fetch_order_;
  ExpertCache& cache_;
  // The first n_jobs_, in the order of step_started; the rest keep their memory.
  std::vector<Job> jobs_;
  size_t n_jobs_ = 0;
  std::vector<Queued> queue_;        // in the order of queueing
  std::vector<ExpertId> in_flight_;  // being read while a job waits for them
  PrefetchQueue prefetches_;
  std::vector<IssuedExpert> issued_;
  std::vector<ExpertId> held_;
  uint64_t ready_clock_ = 0;
};

}  // namespace runahead
