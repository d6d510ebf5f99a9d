#include "base/error.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace runahead {

const char* name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kBadFile: return "bad_file";
    case ErrorCode::kUnsupported: return "unsupported";
    case ErrorCode::kIo: return "io";
    case ErrorCode::kNoSpace: return "no_space";
    case ErrorCode::kNoMemory: return "no_memory";
    case ErrorCode::kInvalid: return "invalid";
    case ErrorCode::kCancelled: return "cancelled";
  }
  return "unknown";
}

Error system_error(const std::string& what, int errno_value) {
  ErrorCode code = ErrorCode::kIo;
  if (errno_value == ENOSPC || errno_value == EDQUOT) {
    code = ErrorCode::kNoSpace;
  } else if (errno_value == ENOMEM) {
    code = ErrorCode::kNoMemory;
  }
  return Error(code, what + ": " + std::generic_category().message(errno_value));
}

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "runahead: CHECK failed: %s (%s:%d)\n", condition, file, line);
  std::abort();
}

}  // namespace runahead
