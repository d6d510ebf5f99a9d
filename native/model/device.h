// model/device.h
//
// Device is the ggml backend that computes, taken from ggml's registry at run time: nothing in the
// engine names one. It also answers where weights may live: the plain buffer type, and the repacked
// one where the processor has interleaved kernels (never ggml's AMX type, which crashes in batched
// products).
//
// compute() is called by the engine thread only.

#pragma once

#include <ggml-backend.h>
#include <ggml-cpp.h>

#include <cstdint>
#include <string>

struct ggml_threadpool;

namespace runahead {

class Device {
 public:
  // The first integrated or discrete GPU of the registry, else the CPU. n_threads 0: all cores.
  explicit Device(int32_t n_threads);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  void compute(ggml_cgraph* graph);

  [[nodiscard]] ggml_backend_t backend() const { return backend_.get(); }
  [[nodiscard]] ggml_backend_buffer_type_t buffer_type() const { return plain_; }
  // nullptr: this device has no repacked kernels.
  [[nodiscard]] ggml_backend_buffer_type_t repacked_type() const { return repacked_; }
  // Readers may write into its memory directly.
  [[nodiscard]] bool host_visible() const { return host_visible_; }
  [[nodiscard]] int32_t n_threads() const { return n_threads_; }
  [[nodiscard]] std::string name() const;

 private:
  ggml_backend_ptr backend_;
  ggml_backend_buffer_type_t plain_ = nullptr;
  ggml_backend_buffer_type_t repacked_ = nullptr;
  bool host_visible_ = false;
  int32_t n_threads_ = 1;
  ggml_threadpool* threadpool_ = nullptr;
};

}  // namespace runahead
