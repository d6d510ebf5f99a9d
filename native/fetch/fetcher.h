// fetch/fetcher.h
//
// Fetcher owns the reader threads. A free reader asks the source for the next fetch, reads the record straight into its
// slot where the slot is host-visible, else into its own page-aligned staging buffer and has it copied, and
// reports back. When the queue is short, idle readers help with one record (parts of >= 256 KiB).
//
// wake(n) wakes at most n sleeping readers, one per new fetch: waking all of them costs compute.
//
// LinkPace emulates a slower link: reads are real, their completion is paced.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "store/expert_store.h"
#include "trace/ring.h"

namespace runahead {

// Where one record goes.
struct FetchTask {
  ExpertId id;
  SlotId slot;
  std::byte* destination = nullptr;  // host-visible slot, 4096-aligned; nullptr: staged through put()
  int32_t request = -1;              // for the trace
  int32_t step = -1;
  bool prefetch = false;
};

// What the engine gives the readers. Both are called from reader threads; implementations lock.
class FetchSource {
 public:
  virtual ~FetchSource() = default;
  // The next record to read, now in flight; nullopt: nothing to do.
  virtual std::optional<FetchTask> next_task() = 0;
  // Copies staged bytes to the slot (only when destination was nullptr).
  virtual void put(const FetchTask& task, uint64_t offset, std::span<const std::byte> bytes) = 0;
  // The record is in its slot (error == nullopt), or could not be read.
  virtual void task_finished(const FetchTask& task, const std::optional<std::string>& error) = 0;
};

struct FetcherOptions {
  int32_t n_readers = 8;
  uint64_t link_bytes_per_s = 0;      // 0: as fast as it goes
  bool split = true;                  // help each other with one record when the queue is short
  size_t ring_capacity = 1 << 14;     // trace records per reader
};

class Fetcher {
 public:
  // `store` and `source` outlive the fetcher. Readers start asleep.
  Fetcher(const ExpertStore& store, FetchSource& source, FetcherOptions options);
  // Finishes reads in flight, then joins.
  ~Fetcher();
  Fetcher(const Fetcher&) = delete;
  Fetcher& operator=(const Fetcher&) = delete;

  // There may be `n` more fetches. Any thread, also while holding the source's lock.
  void wake(int32_t n);
  // Applies from the next read on.
  void set_link(uint64_t bytes_per_s);
  // Waits until no read is in flight. REQUIRES: the source hands out no new ones meanwhile.
  void wait_idle();
  // Trace rings, one per reader (lane = index + 1): one record per part read.
  size_t drain(std::vector<Record>& out);
  [[nodiscard]] uint64_t dropped() const;
};

}  // namespace runahead
