#include "model/device.h"

#include <ggml-cpu.h>

#include <thread>

#include "base/error.h"
#include "store/repack.h"

namespace runahead {
namespace {

template <typename Function>
Function registry_function(ggml_backend_dev_t device, const char* name) {
  ggml_backend_reg_t registry = ggml_backend_dev_backend_reg(device);
  return reinterpret_cast<Function>(ggml_backend_reg_get_proc_address(registry, name));
}

ggml_backend_dev_t best_device() {
  for (const auto type : {GGML_BACKEND_DEVICE_TYPE_GPU, GGML_BACKEND_DEVICE_TYPE_IGPU,
                          GGML_BACKEND_DEVICE_TYPE_CPU}) {
    if (ggml_backend_dev_t device = ggml_backend_dev_by_type(type); device != nullptr) {
      return device;
    }
  }
  throw Error(ErrorCode::kUnsupported, "ggml reports no compute device");
}

}  // namespace

Device::Device(int32_t n_threads) {
  ggml_backend_dev_t device = best_device();
  n_threads_ = n_threads > 0
                   ? n_threads
                   : static_cast<int32_t>(std::max(1U, std::thread::hardware_concurrency()));
  backend_.reset(ggml_backend_dev_init(device, nullptr));
  if (backend_ == nullptr) {
    throw Error(ErrorCode::kUnsupported,
                std::string("the device '") + ggml_backend_dev_name(device) + "' cannot be opened");
  }
  plain_ = ggml_backend_dev_buffer_type(device);
  host_visible_ = ggml_backend_buft_is_host(plain_);
  if (ggml_backend_dev_type(device) != GGML_BACKEND_DEVICE_TYPE_CPU) {
    return;
  }
  repacked_ = repack_buffer_type();
  if (auto set_threads =
          registry_function<ggml_backend_set_n_threads_t>(device, "ggml_backend_set_n_threads")) {
    set_threads(backend_.get(), n_threads_);
  }
  // Workers that poll between graphs would take cores from the readers. (With OpenMP builds of ggml
  // the pool only carries the thread count.)
  auto new_pool = registry_function<decltype(&ggml_threadpool_new)>(device, "ggml_threadpool_new");
  auto set_pool = registry_function<decltype(&ggml_backend_cpu_set_threadpool)>(
      device, "ggml_backend_cpu_set_threadpool");
  if (new_pool != nullptr && set_pool != nullptr) {
    ggml_threadpool_params params = ggml_threadpool_params_default(n_threads_);
    params.poll = 0;
    threadpool_ = new_pool(&params);
    set_pool(backend_.get(), threadpool_);
  }
}

Device::~Device() {
  if (threadpool_ != nullptr) {
    auto free_pool = registry_function<decltype(&ggml_threadpool_free)>(
        ggml_backend_get_device(backend_.get()), "ggml_threadpool_free");
    backend_.reset();
    free_pool(threadpool_);
  }
}

void Device::compute(ggml_cgraph* graph) {
  const ggml_status status = ggml_backend_graph_compute(backend_.get(), graph);
  if (status != GGML_STATUS_SUCCESS) {
    throw Error(status == GGML_STATUS_ALLOC_FAILED ? ErrorCode::kNoMemory : ErrorCode::kUnsupported,
                std::string("the device failed to compute: ") + ggml_status_to_string(status));
  }
}

std::string Device::name() const {
  return ggml_backend_name(backend_.get());
}

}  // namespace runahead
