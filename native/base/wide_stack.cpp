#include "base/wide_stack.h"

#include <pthread.h>

#include <exception>
#include <string>

#include "base/error.h"

namespace runahead {
namespace {

struct Call {
  const std::function<void()>& work;
  std::exception_ptr thrown;
};

void* run(void* argument) {
  auto* call = static_cast<Call*>(argument);
  try {
    call->work();
  } catch (...) {
    call->thrown = std::current_exception();
  }
  return nullptr;
}

}  // namespace

void on_wide_stack(size_t bytes, const std::function<void()>& work) {
  constexpr size_t kPage = 64 << 10;  // of any system
  bytes = (bytes + kPage - 1) / kPage * kPage;
  Call call{work, nullptr};
  pthread_t thread;
  pthread_attr_t attributes;
  int failed = pthread_attr_init(&attributes);
  if (failed == 0) {
    failed = pthread_attr_setstacksize(&attributes, bytes);
    failed = failed != 0 ? failed : pthread_create(&thread, &attributes, run, &call);
    pthread_attr_destroy(&attributes);
  }
  if (failed != 0) {
    throw Error(ErrorCode::kNoMemory,
                "there is no room for a stack of " + std::to_string(bytes) + " bytes");
  }
  pthread_join(thread, nullptr);
  if (call.thrown) {
    std::rethrow_exception(call.thrown);
  }
}

}  // namespace runahead
