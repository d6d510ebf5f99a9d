// base/error.h
//
// Error is for the world outside (files, disks, memory, user input): it is caught at the border and
// shown to a person, so its text names the file, the field and the value. CHECK is for our own
// mistakes: it ends the process, since the state is no longer known.

#pragma once

#include <stdexcept>
#include <string>

namespace runahead {

enum class ErrorCode {
  kBadFile,      // malformed, truncated or damaged file
  kUnsupported,  // a valid file or request that this engine cannot run
  kIo,           // read, write, open failed
  kNoSpace,      // disk full
  kNoMemory,     // allocation would not fit
  kInvalid,      // argument out of range
  kCancelled,    // the caller asked to stop
};

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

// The name Python sees, for example "bad_file".
[[nodiscard]] const char* name_of(ErrorCode code);

// "<what>: <strerror(errno_value)>"; the code is kNoSpace for ENOSPC/EDQUOT, kNoMemory for ENOMEM,
// otherwise kIo.
[[nodiscard]] Error system_error(const std::string& what, int errno_value);

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace runahead

#define CHECK(condition)                                        \
  do {                                                          \
    if (!(condition)) {                                         \
      ::runahead::check_failed(#condition, __FILE__, __LINE__); \
    }                                                           \
  } while (false)
