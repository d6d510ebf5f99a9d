#include "sim/cost_model.h"

#include <cmath>
#include <string>

#include "base/error.h"

namespace runahead {

void CostModel::validate() const {
  const auto check = [](const char* name, double value, bool zero_allowed) {
    if (!std::isfinite(value) || value < 0 || (value == 0 && !zero_allowed)) {
      throw Error(ErrorCode::kInvalid, "cost model: " + std::string(name) + " is " +
                                           std::to_string(value) + ", must be a number " +
                                           (zero_allowed ? ">= 0" : "> 0"));
    }
  };
  check("front_ms", front_ms, true);
  check("front_request_ms", front_request_ms, true);
  check("group_ms", group_ms, true);
  check("expert_ms", expert_ms, true);
  check("job_ms", job_ms, true);
  check("head_ms", head_ms, true);
  check("head_request_ms", head_request_ms, true);
  check("link_bytes_per_s", link_bytes_per_s, false);
  check("link_latency_ms", link_latency_ms, true);
  check("n_readers", n_readers, false);
  check("interference", interference, true);
}

}  // namespace runahead
