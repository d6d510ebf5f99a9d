#include "fetch/fetcher.h"

#include <cstring>
#include <deque>
#include <map>
#include <set>

#include "base/clock.h"
#include "store/faulty_store.h"
#include "store_errors.h"

namespace runahead::test {
namespace {

constexpr uint64_t kRecordBytes = uint64_t{1} << 20;

// A store whose bytes are a function of expert and position; counts and can hold its reads.
class PatternStore final : public ExpertStore {
 public:
  explicit PatternStore(int32_t n_expert, bool splits = true, uint64_t record_bytes = kRecordBytes)
      : splits_(splits) {
    layout_.n_layer = 1;
    layout_.n_expert = n_expert;
    layout_.class_of_layer = {0};
    layout_.classes.resize(1);
    layout_.classes[0].record_bytes = record_bytes;
  }
  const StoreLayout& layout() const override { return layout_; }
  bool can_split() const override { return splits_; }
  void read(ExpertId id, uint64_t offset, std::span<std::byte> destination) const override {
    {
      std::unique_lock lock(mutex_);
      ++n_reads_;
      ++n_waiting_;
      changed_.notify_all();
      changed_.wait(lock, [this] { return !held_; });
      --n_waiting_;
    }
    fill(id, offset, destination);
  }

  static void fill(ExpertId id, uint64_t offset, std::span<std::byte> destination) {
    for (size_t page = 0; page < destination.size(); page += 4096) {
      std::memset(destination.data() + page,
                  static_cast<int>(id.expert * 41 + (offset + page) / 4096 * 7 + 1) & 0xff, 4096);
    }
  }
  static bool matches(ExpertId id, const std::byte* record, uint64_t bytes) {
    std::vector<std::byte> expected(bytes);
    fill(id, 0, expected);
    return std::memcmp(expected.data(), record, bytes) == 0;
  }

  void hold(bool held) {
    const std::lock_guard lock(mutex_);
    held_ = held;
    changed_.notify_all();
  }
  // Until `n` reads wait at the same time.
  void wait_for_readers(int32_t n) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return n_waiting_ >= n; });
  }
  [[nodiscard]] int32_t n_reads() const {
    const std::lock_guard lock(mutex_);
    return n_reads_;
  }

 private:
  StoreLayout layout_;
  bool splits_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable int32_t n_reads_ = 0;
  mutable int32_t n_waiting_ = 0;
  bool held_ = false;
};

// A queue of experts that checks how it is used, calls wake() under its lock, and waits for all.
class QueueSource final : public FetchSource {
 public:
  QueueSource(int32_t n_expert, bool staged, uint64_t record_bytes = kRecordBytes)
      : record_bytes_(record_bytes),
        memory_(static_cast<size_t>(n_expert) * record_bytes),
        staged_(staged) {}

  std::optional<FetchTask> next_task() override {
    const std::lock_guard lock(mutex_);
    ++n_asked_;
    if (queue_.empty()) {
      return std::nullopt;
    }
    const ExpertId id = queue_.front();
    queue_.pop_front();
    FetchTask task;
    task.id = id;
    task.slot = SlotId{id.expert};
    task.destination = staged_ ? nullptr : slot(id);
    task.request = 3;
    task.step = 9;
    task.prefetch = id.expert % 2 == 1;
    started_.insert(id);
    return task;
  }
  void put(const FetchTask& task, uint64_t offset, std::span<const std::byte> bytes) override {
    if (throws_) {
      throw Error(ErrorCode::kIo, "the device is gone");
    }
    std::memcpy(slot(task.id) + offset, bytes.data(), bytes.size());
  }
  void task_finished(const FetchTask& task, const std::optional<std::string>& error) override {
    const std::lock_guard lock(mutex_);
    wrong_ += started_.erase(task.id) == 1 ? 0 : 1;
    ++finished_[task.id];
    if (error) {
      errors_[task.id] = *error;
    } else if (!PatternStore::matches(task.id, slot(task.id), record_bytes_)) {
      ++wrong_;
    }
    n_finished_ += 1;
    changed_.notify_all();
  }

  void add(Fetcher& fetcher, std::vector<ExpertId> ids) {
    const std::lock_guard lock(mutex_);
    queue_.insert(queue_.end(), ids.begin(), ids.end());
    fetcher.wake(static_cast<int32_t>(ids.size()));
  }
  void wait_for(int32_t n_finished) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return n_finished_ >= n_finished; });
  }
  [[nodiscard]] std::byte* slot(ExpertId id) const {
    return memory_.data() + static_cast<size_t>(id.expert) * record_bytes_;
  }

  uint64_t record_bytes_;
  ReservedMemory memory_;
  bool staged_;
  bool throws_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<ExpertId> queue_;
  std::set<ExpertId> started_;
  std::map<ExpertId, int> finished_;
  std::map<ExpertId, std::string> errors_;
  int32_t n_finished_ = 0;
  int32_t n_asked_ = 0;
  int32_t wrong_ = 0;  // finished without being started, or with wrong bytes
};

std::vector<ExpertId> experts(int32_t n) {
  std::vector<ExpertId> ids;
  for (int32_t e = 0; e < n; ++e) {
    ids.push_back({0, e});
  }
  return ids;
}

uint64_t fetched_bytes(const std::vector<Record>& records) {
  uint64_t bytes = 0;
  for (const Record& record : records) {
    bytes +=
        record.event == static_cast<uint8_t>(Event::kFault) ? 0 : static_cast<uint64_t>(record.a);
  }
  return bytes;
}

}  // namespace

TEST_CASE(
    "every expert arrives once and whole: 1 or 8 readers, straight or staged, shared or not") {
  constexpr int32_t kExperts = 40;
  for (const int32_t n_readers : {1, 8}) {
    for (const bool staged : {false, true}) {
      for (const bool split : {false, true}) {
        CAPTURE(n_readers);
        CAPTURE(staged);
        CAPTURE(split);
        const PatternStore store(kExperts);
        QueueSource source(kExperts, staged);
        Fetcher fetcher(store, source, {.n_readers = n_readers, .split = split});
        int32_t next = 0;
        for (const int32_t burst : {1, 1, 2, 16, 3, 1, 16}) {
          std::vector<ExpertId> ids;
          for (int32_t i = 0; i < burst; ++i) {
            ids.push_back({0, next++});
          }
          source.add(fetcher, ids);
          if (burst % 2 == 1) {
            source.wait_for(next);
          }
        }
        source.wait_for(kExperts);
        fetcher.wait_idle();
        CHECK(source.finished_.size() == kExperts);
        CHECK(source.n_finished_ == kExperts);
        CHECK(source.wrong_ == 0);
        CHECK(source.errors_.empty());

        std::vector<Record> records;
        const size_t n_drained = fetcher.drain(records);
        CHECK(n_drained == records.size());
        CHECK(fetched_bytes(records) == kExperts * kRecordBytes);
        CHECK(records.size() == static_cast<size_t>(store.n_reads()));
        for (const Record& record : records) {
          const auto event = record.expert % 2 == 1 ? Event::kPrefetch : Event::kFetch;
          CHECK(record.event == static_cast<uint8_t>(event));
          CHECK((record.lane >= 1 && record.lane <= n_readers));
          CHECK(record.b == record.expert);
          CHECK((record.request == 3 && record.step == 9 && record.layer == 0));
          CHECK(record.end_ns >= record.begin_ns);
          CHECK((split && n_readers > 1 ? record.a >= 256 << 10 : record.a == kRecordBytes));
        }
        CHECK(fetcher.dropped() == 0);
      }
    }
  }
}

TEST_CASE("one missing expert is read by several idle readers, at least 256 KiB each") {
  PatternStore store(1);
  QueueSource source(1, /*staged=*/false);
  Fetcher fetcher(store, source, {.n_readers = 8});
  fetcher.wait_idle();  // all sleep
  store.hold(true);
  source.add(fetcher, experts(1));
  store.wait_for_readers(4);  // 1 MiB
  store.hold(false);
  source.wait_for(1);
  CHECK(store.n_reads() == 4);
  CHECK(source.wrong_ == 0);
}

TEST_CASE(
    "a record is not shared when its store needs it whole, when it is small, or on a paced link") {
  struct Case {
    bool splits;
    uint64_t record_bytes;
    uint64_t link;
  };
  for (const Case c : {Case{false, kRecordBytes, 0}, Case{true, 511 << 10 & ~4095, 0},
                       Case{true, kRecordBytes, 10'000'000'000}}) {
    const PatternStore store(1, c.splits, c.record_bytes);
    QueueSource source(1, /*staged=*/false, c.record_bytes);
    Fetcher fetcher(store, source, {.n_readers = 8, .link_bytes_per_s = c.link});
    fetcher.wait_idle();
    source.add(fetcher, experts(1));
    source.wait_for(1);
    CHECK(store.n_reads() == 1);
    CHECK(source.wrong_ == 0);
  }
}

TEST_CASE("a wake-up wakes one reader, not all") {
  PatternStore store(4);
  QueueSource source(4, /*staged=*/false);
  Fetcher fetcher(store, source, {.n_readers = 8, .split = false});
  fetcher.wait_idle();
  CHECK(source.n_asked_ == 0);  // readers start asleep
  store.hold(true);
  source.add(fetcher, experts(3));
  store.wait_for_readers(3);
  {
    const std::lock_guard lock(source.mutex_);
    CHECK(source.n_asked_ == 3);
  }
  store.hold(false);
  source.wait_for(3);
  fetcher.wait_idle();
  CHECK(source.n_asked_ == 6);  // each asked once more, then slept
  fetcher.wake(1);
  fetcher.wait_idle();
  CHECK(source.n_asked_ == 7);
}

TEST_CASE("no wake-up is lost when fetches are added one by one while readers fall asleep") {
  constexpr int32_t kExperts = 2000;
  for (const int32_t n_readers : {1, 2, 8}) {
    const PatternStore store(kExperts, true, 4096);
    QueueSource source(kExperts, /*staged=*/false, 4096);
    Fetcher fetcher(store, source, {.n_readers = n_readers});
    for (int32_t e = 0; e < kExperts; ++e) {
      source.add(fetcher, {{0, e}});
      if (e % 3 != 0) {
        source.wait_for(e + 1);  // all readers are about to sleep
      }
    }
    source.wait_for(kExperts);
    CHECK(source.n_finished_ == kExperts);
    CHECK(source.wrong_ == 0);
  }
}

TEST_CASE("faults by seed: each record ends once, whole or with its error, and none is lost") {
  constexpr int32_t kExperts = 60;
  const FaultRates rates{.errors = 100, .short_reads = 100, .delays = 200, .max_delay_us = 300};
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    for (const int32_t n_readers : {1, 8}) {
      CAPTURE(seed);
      CAPTURE(n_readers);
      const PatternStore store(kExperts);
      const FaultyStore faulty(store, seed, rates);
      QueueSource source(kExperts, /*staged=*/seed % 2 == 0);
      Fetcher fetcher(faulty, source, {.n_readers = n_readers});
      for (int32_t e = 0; e < kExperts; ++e) {
        source.add(fetcher, {{0, e}});
        if (e % 8 == 0) {
          source.wait_for(e + 1);
        }
      }
      source.wait_for(kExperts);
      fetcher.wait_idle();
      CHECK(source.n_finished_ == kExperts);
      CHECK(source.finished_.size() == kExperts);
      CHECK(source.wrong_ == 0);
      CHECK_FALSE(source.errors_.empty());
      CHECK(source.errors_.size() < kExperts);
      size_t n_faults = 0;
      std::vector<Record> records;
      fetcher.drain(records);
      for (const Record& record : records) {
        n_faults += record.event == static_cast<uint8_t>(Event::kFault) ? 1 : 0;
      }
      CHECK(n_faults == source.errors_.size());
      for (const auto& [id, error] : source.errors_) {
        CHECK(has(error, "expert " + std::to_string(id.expert)));
      }
    }
  }
}

TEST_CASE("a copy to the device that fails is the record's error") {
  const PatternStore store(2);
  QueueSource source(2, /*staged=*/true);
  source.throws_ = true;
  Fetcher fetcher(store, source, {.n_readers = 4});
  source.add(fetcher, experts(2));
  source.wait_for(2);
  fetcher.wait_idle();
  CHECK(source.n_finished_ == 2);
  CHECK(source.errors_[{0, 1}] == "the device is gone");
}

TEST_CASE("a paced link never delivers faster than its rate") {
  constexpr int32_t kExperts = 8;
  for (const bool staged : {false, true}) {
    const PatternStore store(kExperts);
    QueueSource source(kExperts, staged);
    Fetcher fetcher(store, source, {.n_readers = 8});
    fetcher.set_link(100 << 20);
    const int64_t begin = now_ns();
    source.add(fetcher, experts(kExperts));
    source.wait_for(kExperts);
    CHECK(now_ns() - begin >= 80'000'000);  // 8 MiB at 100 MiB/s
    CHECK(source.wrong_ == 0);
    fetcher.wait_idle();
    std::vector<Record> records;
    fetcher.drain(records);
    std::set<int64_t> ends;
    for (const Record& record : records) {
      ends.insert(record.end_ns);
    }
    CHECK(ends.size() == kExperts);
    CHECK(*ends.rbegin() - begin >= 80'000'000);
  }
}

TEST_CASE("closing finishes what is in flight, once, and does not wait for a slow link") {
  for (const bool split : {false, true}) {
    PatternStore store(64);
    QueueSource source(64, /*staged=*/false);
    {
      Fetcher fetcher(store, source,
                      {.n_readers = 8, .link_bytes_per_s = split ? 0u : 1u, .split = split});
      store.hold(true);
      source.add(fetcher, experts(64));
      store.wait_for_readers(8);
      store.hold(false);
    }
    CHECK(source.started_.empty());
    CHECK(source.wrong_ == 0);
    CHECK(source.n_finished_ >= 8);
    CHECK(source.n_finished_ + static_cast<int32_t>(source.queue_.size()) == 64);
  }
}

TEST_CASE("a fetcher that was never woken closes") {
  const PatternStore store(1);
  QueueSource source(1, /*staged=*/false);
  {
    const Fetcher fetcher(store, source, {});
  }
  CHECK(source.n_asked_ == 0);
}

}  // namespace runahead::test
