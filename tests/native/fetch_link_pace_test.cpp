#include "fetch/link_pace.h"

#include "store_errors.h"

namespace runahead::test {

TEST_CASE("reads on a paced link end one after the other, at its rate") {
  LinkPace pace(1000);  // 1 byte per ms
  constexpr int64_t kMs = 1000000;
  CHECK(pace.reserve(5, 0) == 5 * kMs);
  CHECK(pace.reserve(5, 1 * kMs) == 10 * kMs);   // waits for the first
  CHECK(pace.reserve(5, 20 * kMs) == 25 * kMs);  // the link was idle: nothing is saved up
  pace.set_rate(5000);
  CHECK(pace.reserve(5, 20 * kMs) == 26 * kMs);
}

TEST_CASE("a link without a rate holds nothing up") {
  LinkPace pace(0);
  CHECK_FALSE(pace.paced());
  CHECK(pace.reserve(uint64_t{1} << 40, 123) == 123);
}

}  // namespace runahead::test
