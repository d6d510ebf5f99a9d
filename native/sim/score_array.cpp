#include "sim/score_array.h"

#include <ggml.h>

#include <algorithm>
#include <string>

#include "base/error.h"

namespace runahead {
namespace {

// Half precision may round a sum of shares up.
constexpr float kMost = 1.001F;

}  // namespace

void ScoreArray::read(size_t begin, std::span<float> out) const {
  CHECK(begin + out.size() <= size());
  if (halves_.empty()) {
    const auto from = singles_.subspan(begin, out.size());
    std::copy(from.begin(), from.end(), out.begin());
  } else {
    static_assert(sizeof(ggml_fp16_t) == sizeof(uint16_t));
    ggml_fp16_to_fp32_row(halves_.data() + begin, out.data(), static_cast<int64_t>(out.size()));
  }
  for (const float score : out) {
    if (!(score >= 0 && score <= kMost)) {  // not a number, too
      throw Error(ErrorCode::kInvalid,
                  "routing trace: a router's score is " + std::to_string(score) + ", not 0 .. 1");
    }
  }
}

}  // namespace runahead
