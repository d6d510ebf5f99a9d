// exec/open_model.h
//
// OpenModel is a model file made ready to run: its sizes, tokenizer, resident weights, expert
// store, slot pools, and the device that computes. Constant after opening, but for the memory that
// graphs and readers write.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "exec/device_memory.h"
#include "model/device.h"
#include "model/family.h"
#include "model/vocab.h"
#include "model/weights.h"
#include "store/expert_store.h"

namespace runahead {

enum class StoreKind : uint8_t { kPack, kGguf, kMemory };

struct ModelOptions {
  StoreKind store = StoreKind::kPack;
  std::string pack_path;
  int32_t n_threads = 0;  // 0: all cores
  int32_t max_requests = 16;
  int32_t context = 4096;
  int32_t prefill_chunk = 512;
  bool verify_reads = false;
  bool staged = false;      // write slots as on a device whose memory is not host-visible
  uint64_t fault_seed = 0;  // tests: non-zero makes some reads fail, end early or come late
};

// (stage, done, of how many) -> go on?
using OpenProgress = std::function<bool(const char* stage, uint64_t done, uint64_t total)>;

class OpenModel {
 public:
  // Throws Error naming the file; nothing is left behind then.
  OpenModel(const std::string& path, const ModelOptions& options, const OpenProgress& progress);

  [[nodiscard]] const Hparams& hparams() const { return hparams_; }
  [[nodiscard]] const Family& family() const { return *family_; }
  [[nodiscard]] const Vocab& vocab() const { return *vocab_; }
  [[nodiscard]] const Weights& weights() const { return *weights_; }
  [[nodiscard]] const ExpertStore& store() const { return faulty_ ? *faulty_ : *store_; }
  [[nodiscard]] const StoreLayout& layout() const { return store_->layout(); }
  [[nodiscard]] Device& device() const { return *device_; }
  [[nodiscard]] const DeviceMemory::Pools& pools() const { return pools_; }
  // As written in the file.
  [[nodiscard]] const std::optional<std::string>& chat_template() const { return chat_template_; }

 private:
  void open_store(const GgufExperts& experts, const ModelOptions& options,
                  const OpenProgress& progress);

  Hparams hparams_;
  std::optional<std::string> chat_template_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Family> family_;
  std::unique_ptr<Vocab> vocab_;
  std::unique_ptr<Weights> weights_;
  std::unique_ptr<ExpertStore> store_;
  std::unique_ptr<ExpertStore> faulty_;  // wraps store_
  DeviceMemory::Pools pools_;
};

// Throws Error(kInvalid) naming the option, its value and the range.
void check_between(const char* name, int64_t value, int64_t min, int64_t max);

}  // namespace runahead
