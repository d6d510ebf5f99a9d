#include "fetch/fetcher.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "base/align.h"
#include "base/clock.h"
#include "base/error.h"

namespace runahead {
namespace {

// More or smaller parts were no faster, and every reader that wakes takes processor time from
// compute.
constexpr int32_t kMaxParts = 4;
constexpr uint64_t kMinPartBytes = uint64_t{256} << 10;
static_assert(kMinPartBytes % kPageBytes == 0);

uint64_t largest_record(const StoreLayout& layout) {
  uint64_t largest = 0;
  for (const SlotClass& slot_class : layout.classes) {
    largest = std::max(largest, slot_class.record_bytes);
  }
  return largest;
}

Record record_of(const FetchTask& task, Event event, int32_t reader) {
  Record record;
  record.step = task.step;
  record.request = task.request;
  record.layer = task.id.layer;
  record.expert = task.id.expert;
  record.b = to_int(task.slot);
  record.event = static_cast<uint8_t>(event);
  record.lane = static_cast<uint8_t>(reader + 1);
  return record;
}

}  // namespace

Fetcher::Fetcher(const ExpertStore& store, FetchSource& source, FetcherOptions options)
    : store_(store), source_(source), options_(options), pace_(options.link_bytes_per_s) {
  CHECK(options_.n_readers > 0 && options_.n_readers < 255);
  transfers_.resize(static_cast<size_t>(options_.n_readers));
  for (int32_t i = 0; i < options_.n_readers; ++i) {
    // Staging is address space only, until a task without a destination comes.
    readers_.push_back(
        std::make_unique<Reader>(options_.ring_capacity, largest_record(store.layout())));
  }
  for (int32_t i = 0; i < options_.n_readers; ++i) {
    threads_.emplace_back([this, i] { run(i); });
  }
}

Fetcher::~Fetcher() {
  const std::lock_guard lock(mutex_);
  stop_ = true;
  work_.notify_all();
  stopped_.notify_all();
}

void Fetcher::wake(int32_t n) {
  const std::lock_guard lock(mutex_);
  n_wakeups_ = std::min(n_wakeups_ + n, options_.n_readers);
  for (int32_t i = 0; i < std::min(n, n_sleeping_); ++i) {
    work_.notify_one();
  }
}

void Fetcher::set_link(uint64_t bytes_per_s) {
  const std::lock_guard lock(mutex_);
  pace_.set_rate(bytes_per_s);
}

void Fetcher::wait_idle() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return n_sleeping_ == options_.n_readers && n_wakeups_ == 0; });
}

size_t Fetcher::drain(std::vector<Record>& out) {
  size_t n = 0;
  for (const auto& reader : readers_) {
    n += reader->ring.drain(out);
  }
  return n;
}

uint64_t Fetcher::dropped() const {
  uint64_t n = 0;
  for (const auto& reader : readers_) {
    n += reader->ring.dropped();
  }
  return n;
}

// A reader's life: first help with what is being read, since that is the most urgent; else ask the
// source, as long as it may have something; else sleep.
//
// No wake-up is lost: the source queues before it calls wake(), so whoever takes the wake-up finds
// the task, and a reader to whom the source said "nothing" looks for wake-ups, under the lock,
// before it sleeps.
void Fetcher::run(int32_t index) {
  std::unique_lock lock(mutex_);
  bool ask = false;
  while (true) {
    Transfer* transfer = oldest_open();
    if (transfer == nullptr && stop_) {
      return;
    }
    if (transfer == nullptr && n_wakeups_ > 0) {
      --n_wakeups_;
      ask = true;
    }
    if (transfer == nullptr && ask) {
      lock.unlock();
      const std::optional<FetchTask> task = source_.next_task();
      lock.lock();
      ask = task.has_value();
      if (!task) {
        continue;
      }
      transfer = begin(*task);
    }
    if (transfer == nullptr) {
      sleep(lock);
      continue;
    }
    serve(index, take_part(*transfer), lock);
    ask = true;
  }
}

void Fetcher::sleep(std::unique_lock<std::mutex>& lock) {
  ++n_sleeping_;
  if (n_sleeping_ == options_.n_readers) {
    idle_.notify_all();
  }
  work_.wait(lock, [this] { return stop_ || n_wakeups_ > 0 || oldest_open() != nullptr; });
  --n_sleeping_;
}

Fetcher::Transfer* Fetcher::oldest_open() {
  Transfer* oldest = nullptr;
  for (Transfer& transfer : transfers_) {
    if (transfer.active && transfer.next < transfer.bytes &&
        (oldest == nullptr || transfer.age < oldest->age)) {
      oldest = &transfer;
    }
  }
  return oldest;
}

Fetcher::Transfer* Fetcher::begin(const FetchTask& task) {
  const auto free = std::find_if(transfers_.begin(), transfers_.end(),
                                 [](const Transfer& transfer) { return !transfer.active; });
  CHECK(free != transfers_.end());
  const uint64_t bytes = store_.layout().record_bytes(task.id);
  // A predicted expert takes one reader, so that the others are there for missing ones.
  const uint64_t share = task.prefetch ? bytes : share_of(bytes);
  *free = {.task = task,
           .age = next_age_++,
           .bytes = bytes,
           .share = share,
           .next = 0,
           .n_in_flight = 0,
           .error = std::nullopt,
           .active = true};
  for (uint64_t at = share; at + kMinPartBytes <= bytes; at += share) {
    work_.notify_one();
  }
  return &*free;
}

// One share for this reader and each that sleeps without a wake-up of its own; all of it on a paced
// link, which serves one read after the other anyway.
uint64_t Fetcher::share_of(uint64_t record_bytes) const {
  const int32_t n_spare = n_sleeping_ - n_wakeups_;
  if (!options_.split || pace_.paced() || n_spare <= 0 || !store_.can_split()) {
    return record_bytes;
  }
  const auto n_parts = static_cast<uint64_t>(std::min(n_spare + 1, kMaxParts));
  return std::max(align_up(record_bytes / n_parts, kPageBytes), kMinPartBytes);
}

Fetcher::Part Fetcher::take_part(Transfer& transfer) {
  const uint64_t offset = transfer.next;
  const uint64_t remaining = transfer.bytes - offset;
  // The last part takes what would be too small for one of its own.
  const uint64_t bytes = remaining < transfer.share + kMinPartBytes ? remaining : transfer.share;
  transfer.next += bytes;
  ++transfer.n_in_flight;
  const int64_t now = now_ns();
  return {&transfer, transfer.task, offset, bytes, now, pace_.reserve(bytes, now)};
}

void Fetcher::serve(int32_t index, const Part& part, std::unique_lock<std::mutex>& lock) {
  Reader& reader = *readers_[static_cast<size_t>(index)];
  lock.unlock();
  std::optional<std::string> error = read_part(reader, part);
  if (!error) {
    Record record =
        record_of(part.task, part.task.prefetch ? Event::kPrefetch : Event::kFetch, index);
    record.begin_ns = part.begin_ns;
    record.end_ns = now_ns();
    record.a = static_cast<int64_t>(part.bytes);
    record.part = static_cast<uint16_t>(part.offset / kMinPartBytes);
    reader.ring.push(record);
  }
  lock.lock();

  Transfer& transfer = *part.transfer;
  --transfer.n_in_flight;
  if (error) {
    transfer.next = transfer.bytes;  // the rest is not worth reading
    if (!transfer.error) {
      transfer.error = std::move(error);
    }
  }
  if (transfer.n_in_flight > 0 || transfer.next < transfer.bytes) {
    return;
  }
  const std::optional<std::string> failure = std::move(transfer.error);
  transfer.active = false;
  lock.unlock();
  if (failure) {
    Record record = record_of(part.task, Event::kFault, index);
    record.begin_ns = record.end_ns = now_ns();
    reader.ring.push(record);
  }
  source_.task_finished(part.task, failure);
  lock.lock();
}

std::optional<std::string> Fetcher::read_part(Reader& reader, const Part& part) {
  const bool staged = part.task.destination == nullptr;
  const std::span<std::byte> destination(
      staged ? reader.staging.data() : part.task.destination + part.offset, part.bytes);
  try {
    store_.read(part.task.id, part.offset, destination);
    wait_for_pace(part.earliest_end_ns);
    if (staged) {
      source_.put(part.task, part.offset, destination);
    }
  } catch (const std::exception& error) {
    return error.what();
  }
  return std::nullopt;
}

void Fetcher::wait_for_pace(int64_t until_ns) {
  if (until_ns <= now_ns()) {
    return;
  }
  const std::chrono::steady_clock::time_point until{std::chrono::nanoseconds(until_ns)};
  std::unique_lock lock(mutex_);
  stopped_.wait_until(lock, until, [this] { return stop_; });
}

}  // namespace runahead
