// sched/scheduler.h
//
// Scheduler is the pure state machine of runahead inference (paper section 4, Algorithm 1): events
// go in, decisions come out. It has no thread, clock or I/O; exec/ drives it with a real device and
// disk, sim/ on a virtual clock.
//
//   step_started      all active requests are about to reveal their first routing
//   routed            a router named the experts of one request's next job      (Job Issuer)
//   next_fetch        a reader is free                                          (Expert Fetcher)
//   fetch_finished / fetch_failed
//   next_group        the device is free                                        (Compute Scheduler)
//   group_finished    releases the group's pins; routed() follows for each request that has not
//                     left, unless that was its last job
//
// The Progress Table (request, layer, state) is its one source of truth.
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

// What one job's issue did, for the trace: parallel to the experts passed to routed().
struct IssuedExpert {
  ExpertId id;
  Acquired acquired;
};

struct Fetch {
  ExpertId id;
  SlotId slot;
  RequestId request;  // the first job that needed it
  bool prefetch = false;
};

class Scheduler {
 public:
  // `cache` outlives the scheduler. Throws Error(kInvalid) for a name that this version does not
  // know.
  Scheduler(const Policy& policy, ExpertCache& cache);

  // REQUIRES: no step in progress; can_start(). Every request starts as kRouting.
  void step_started(std::span<const RequestId> requests);

  // The experts of `request`'s job at `layer` (distinct). Pins each: resident, joined, or reserved
  // and queued for fetching. The job is then ready or blocked. Valid until the next call.
  // REQUIRES: `request` is kRouting; the deadlock rule held at step_started.
  std::span<const IssuedExpert> routed(RequestId request, int32_t layer,
                                       std::span<const int32_t> experts);

  // The missing expert to read next, by the fetch order; it is then in flight. nullopt: none
  // queued.
  //   layer-srtf    of the blocked job with the smallest (layer, missing) that has a queued expert
  //   global-srtf   of the one with the smallest (missing, layer)
  //   fifo          the expert that was queued first
  // Ties go in the order of step_started, within a job in the order of its experts.
  [[nodiscard]] std::optional<Fetch> next_fetch();
  [[nodiscard]] bool has_fetch() const;    // next_fetch() would return one
  [[nodiscard]] int32_t n_queued() const;  // experts waiting for a reader

  // Publishes the expert; jobs whose last missing expert this was become ready. True: some did.
  bool fetch_finished(ExpertId id);
  // The expert cannot be read: every job that needs it leaves the step (its other pins are
  // released). Returns their requests.
  std::vector<RequestId> fetch_failed(ExpertId id);
  // Both also take experts that no job here waits for: fetches in flight when their job left, or
  // begun by Waves or by an earlier Scheduler on the same cache.

  // The jobs to run next, by schedule and compute order; they are then kRunning.
  // runahead: all ready jobs of the chosen layer (lowest-layer: the lowest ready layer; fifo: the
  // layer of the job that has been ready longest). lockstep: all jobs of the step at once, when all
  // are ready.
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
  [[nodiscard]] bool can_start(int32_t n_requests, int32_t n_expert_used) const;

  [[nodiscard]] std::vector<JobStatus> progress_table() const;
  [[nodiscard]] const Policy& policy() const;

 private:
  enum class Schedule : uint8_t { kRunahead, kLockstep };
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
  [[nodiscard]] std::optional<int32_t> choose_layer() const;
  void become_ready(Job& job);
  void release_pins(Job& job);
  void leave(Job& job);
  // Calls f(job, need) for every blocked job that waits for `id`.
  template <class F>
  void for_each_waiting(ExpertId id, F f);

  Policy policy_;
  Schedule schedule_;
  ComputeOrder compute_order_;
  FetchOrder fetch_order_;
  ExpertCache& cache_;
  // The first n_jobs_, in the order of step_started; the rest keep their memory.
  std::vector<Job> jobs_;
  size_t n_jobs_ = 0;
  std::vector<Queued> queue_;  // in the order of queueing
  std::vector<IssuedExpert> issued_;
  uint64_t ready_clock_ = 0;
};

}  // namespace runahead
