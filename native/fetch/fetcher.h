// fetch/fetcher.h
//
// Fetcher owns the reader threads. A free reader asks the source for the next fetch, reads the
// record straight into its slot where the slot is host-visible, else into its own page-aligned
// staging buffer and has it copied, and reports back. When the queue is short, idle readers help
// with one record (up to 4 parts of >= 256 KiB).
//
// wake(n) wakes at most n sleeping readers, one per new fetch: waking all of them costs compute.
//
// LinkPace emulates a slower link: reads are real, their completion is paced.
//
// Always true: a task the source hands out is finished exactly once; a reader sleeps only when no
// part is open and no wake-up is pending. Readers call the source without holding the fetcher's
// lock, so the source may call wake() under its own.

#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/ids.h"
#include "base/reserved_memory.h"
#include "fetch/link_pace.h"
#include "store/expert_store.h"
#include "trace/ring.h"

namespace runahead {

// Where one record goes.
struct FetchTask {
  ExpertId id;
  SlotId slot;
  std::byte* destination =
      nullptr;           // host-visible slot, 4096-aligned; nullptr: staged through put()
  int32_t request = -1;  // for the trace
  int32_t step = -1;
  bool prefetch = false;
};

// What the engine gives the readers. All are called from reader threads; implementations lock.
class FetchSource {
 public:
  virtual ~FetchSource() = default;
  // The next record to read, now in flight; nullopt: nothing to do.
  virtual std::optional<FetchTask> next_task() = 0;
  // Copies staged bytes to the slot (only when destination was nullptr).
  // Parts of one record may come at once from several readers, in any order. Throws when it cannot.
  virtual void put(const FetchTask& task, uint64_t offset, std::span<const std::byte> bytes) = 0;
  // The record is in its slot (error == nullopt), or could not be read.
  virtual void task_finished(const FetchTask& task, const std::optional<std::string>& error) = 0;
};

struct FetcherOptions {
  int32_t n_readers = 8;
  uint64_t link_bytes_per_s = 0;   // 0: as fast as it goes
  bool split = true;               // help each other with one record when the queue is short
  size_t ring_capacity = 1 << 14;  // trace records per reader
};

class Fetcher {
 public:
  // `store` and `source` outlive the fetcher. Readers start asleep.
  Fetcher(const ExpertStore& store, FetchSource& source, FetcherOptions options);
  // Finishes the records in flight (unpaced from now on), then joins.
  ~Fetcher();
  Fetcher(const Fetcher&) = delete;
  Fetcher& operator=(const Fetcher&) = delete;

  // There may be `n` more fetches. Any thread, also while holding the source's lock.
  void wake(int32_t n);
  // Applies from the next read on; 0: as fast as it goes.
  void set_link(uint64_t bytes_per_s);
  // Waits until no read is in flight and no wake-up is pending. REQUIRES: the source hands out no
  // new ones meanwhile, and the caller does not hold its lock.
  void wait_idle();
  // Trace rings, one per reader (lane = index + 1): one record per part read, kFault for a record
  // that failed. One thread at a time.
  size_t drain(std::vector<Record>& out);
  [[nodiscard]] uint64_t dropped() const;

 private:
  // A record being read. There are never more than readers: a reader begins one only after it saw
  // none with parts left.
  struct Transfer {
    FetchTask task;
    uint64_t age = 0;         // smaller: begun earlier, so more urgent
    uint64_t bytes = 0;       // of the record
    uint64_t share = 0;       // bytes of one part
    uint64_t next = 0;        // first byte that no reader has taken
    int32_t n_in_flight = 0;  // parts being read
    std::optional<std::string> error;
    bool active = false;
  };
  struct Part {
    Transfer* transfer;
    FetchTask task;
    uint64_t offset;
    uint64_t bytes;
    int64_t begin_ns;
    int64_t earliest_end_ns;  // by the pace of the link
  };
  struct Reader {
    Reader(size_t ring_capacity, size_t staging_bytes)
        : ring(ring_capacity), staging(staging_bytes) {}
    Ring ring;
    ReservedMemory staging;
  };

  void run(int32_t index);
  void sleep(std::unique_lock<std::mutex>& lock);
  [[nodiscard]] Transfer* oldest_open();
  [[nodiscard]] Transfer* begin(const FetchTask& task);
  [[nodiscard]] Part take_part(Transfer& transfer);
  // Reads one part, unlocked, and finishes the record when it was the last.
  void serve(int32_t index, const Part& part, std::unique_lock<std::mutex>& lock);
  [[nodiscard]] std::optional<std::string> read_part(Reader& reader, const Part& part);
  void wait_for_pace(int64_t until_ns);
  [[nodiscard]] uint64_t share_of(uint64_t record_bytes) const;

  const ExpertStore& store_;
  FetchSource& source_;
  const FetcherOptions options_;
  std::vector<std::unique_ptr<Reader>> readers_;

  std::mutex mutex_;
  std::condition_variable work_;     // a wake-up is pending, parts are open, or stop
  std::condition_variable idle_;     // all readers sleep
  std::condition_variable stopped_;  // stop: ends paced waits
  // Guarded by mutex_.
  std::vector<Transfer> transfers_;
  uint64_t next_age_ = 0;
  int32_t n_wakeups_ = 0;  // pending, at most one per reader
  int32_t n_sleeping_ = 0;
  LinkPace pace_;
  bool stop_ = false;

  std::vector<std::jthread> threads_;  // last: they use all of the above
};

}  // namespace runahead
