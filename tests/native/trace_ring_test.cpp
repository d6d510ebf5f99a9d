#include "trace/ring.h"

#include <thread>

#include "store_errors.h"

namespace runahead::test {
namespace {

Record numbered(int64_t n) {
  Record record;
  record.a = n;
  record.b = -n;
  return record;
}

}  // namespace

TEST_CASE("a ring gives back what was pushed, in order, around its end") {
  Ring ring(8);
  std::vector<Record> out;
  int64_t pushed = 0;
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 5; ++i) {
      ring.push(numbered(pushed++));
    }
    CHECK(ring.drain(out) == 5);
  }
  REQUIRE(out.size() == 50);
  for (int64_t i = 0; i < 50; ++i) {
    CHECK(out[static_cast<size_t>(i)].a == i);
  }
  CHECK(ring.dropped() == 0);
  CHECK(ring.drain(out) == 0);
}

TEST_CASE("a full ring keeps what it has and counts what it drops") {
  Ring ring(4);
  for (int64_t i = 0; i < 7; ++i) {
    ring.push(numbered(i));
  }
  CHECK(ring.dropped() == 3);
  std::vector<Record> out;
  CHECK(ring.drain(out) == 4);
  CHECK(out.back().a == 3);
  ring.push(numbered(7));
  CHECK(ring.drain(out) == 1);
  CHECK(out.back().a == 7);
  CHECK(ring.dropped() == 3);
}

TEST_CASE("one writer and one reader: every record arrives whole and in order, or is counted") {
  constexpr int64_t kRecords = 200000;
  Ring ring(64);
  std::vector<Record> out;
  {
    const std::jthread writer([&] {
      for (int64_t i = 0; i < kRecords; ++i) {
        ring.push(numbered(i));
        if (i % 64 == 0) {
          std::this_thread::yield();
        }
      }
    });
    while (static_cast<int64_t>(out.size() + ring.dropped()) < kRecords) {
      ring.drain(out);
      std::this_thread::yield();
    }
  }
  ring.drain(out);
  CHECK(static_cast<int64_t>(out.size() + ring.dropped()) == kRecords);
  CHECK_FALSE(out.empty());
  int64_t last = -1;
  bool whole = true;
  for (const Record& record : out) {
    whole = whole && record.a > last && record.b == -record.a;
    last = record.a;
  }
  CHECK(whole);
}

}  // namespace runahead::test
