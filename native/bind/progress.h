// bind/progress.h: Python progress callbacks as native ones, called at most a few times a second
// and always at the end.

#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

#include "base/clock.h"
#include "base/error.h"

namespace runahead {

class PythonProgress {
 public:
  // `callback` may be None. REQUIRES: outlived by the caller's frame; made with the GIL held.
  explicit PythonProgress(nanobind::object callback) : callback_(std::move(callback)) {}

  // Any thread without the GIL. False: the caller of Python wants to stop, or the callback raised.
  bool operator()(const char* stage, uint64_t done, uint64_t total) {
    if (!callback_.is_valid() || callback_.is_none()) {
      return true;
    }
    const int64_t now = now_ns();
    if (done < total && now - last_ns_ < kEveryNs) {
      return true;
    }
    last_ns_ = now;
    const nanobind::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) {
      throw nanobind::python_error();
    }
    return nanobind::cast<bool>(callback_(stage, done, total));
  }

 private:
  static constexpr int64_t kEveryNs = 100'000'000;
  nanobind::object callback_;
  int64_t last_ns_ = 0;
};

}  // namespace runahead
