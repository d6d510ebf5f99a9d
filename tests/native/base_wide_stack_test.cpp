#include "base/wide_stack.h"

#include <doctest/doctest.h>

#include <stdexcept>

#include "base/error.h"

namespace runahead::test {
namespace {

int32_t deep(int32_t n) {
  volatile char room[1000];
  room[0] = 1;
  return n == 0 ? 0 : room[0] + deep(n - 1);
}

}  // namespace

TEST_CASE("base: a wide stack has the room that was asked for") {
  int32_t depth = 0;
  on_wide_stack(256 << 20, [&] { depth = deep(60'000); });  // far more than a thread has else
  CHECK(depth == 60'000);
}

TEST_CASE("base: what is thrown on a wide stack is thrown where it was called") {
  CHECK_THROWS_WITH_AS(on_wide_stack(1, [] { throw std::runtime_error("deep"); }), "deep",
                       std::runtime_error);
  CHECK_THROWS_AS(on_wide_stack(size_t{1} << 60, [] {}), Error);
}

}  // namespace runahead::test
