#include "exec/open_model.h"

#include <algorithm>

#include "base/error.h"
#include "store/faulty_store.h"
#include "store/gguf_store.h"
#include "store/host_store.h"
#include "store/pack_store.h"

namespace runahead {

void check_between(const char* name, int64_t value, int64_t min, int64_t max) {
  if (value < min || value > max) {
    throw Error(ErrorCode::kInvalid, std::string(name) + " " + std::to_string(value) +
                                         " is not between " + std::to_string(min) + " and " +
                                         std::to_string(max));
  }
}

OpenModel::OpenModel(const std::string& path, const ModelOptions& options,
                     const OpenProgress& progress) {
  check_between("max_requests", options.max_requests, 1, 64);
  check_between("prefill_chunk", options.prefill_chunk, 1, 8192);
  check_between("n_threads", options.n_threads, 0, 512);
  const GgufFile file = GgufFile::open(path);
  family_ = make_family(file);
  hparams_ = family_->read_hparams(file);
  check_between("context", options.context, 1, hparams_.context_length);
  hparams_.context = options.context;
  const GgufExperts experts = family_experts(file, hparams_);
  check_tensors(file, *family_, hparams_);
  vocab_ = std::make_unique<Vocab>(file);
  chat_template_ = file.get_string("tokenizer.chat_template");
  if (vocab_->size() > hparams_.n_vocab) {
    throw Error(ErrorCode::kBadFile,
                path + ": " + std::to_string(vocab_->size()) + " tokens in the vocabulary, but " +
                    std::to_string(hparams_.n_vocab) + " rows in token_embd.weight");
  }
  device_ = std::make_unique<Device>(options.n_threads);
  std::vector<std::vector<TensorSpec>> layer_specs;
  std::vector<int32_t> variants;
  for (int32_t il = 0; il < hparams_.n_layer(); ++il) {
    layer_specs.push_back(family_->layer_tensors(hparams_, il));
    const auto same = std::find(hparams_.layers.begin(), hparams_.layers.end(), hparams_.layer(il));
    variants.push_back(static_cast<int32_t>(same - hparams_.layers.begin()));
  }
  weights_ = std::make_unique<Weights>(
      file, *device_, family_->model_tensors(hparams_), layer_specs, variants,
      [&](uint64_t done, uint64_t total) { return !progress || progress("weights", done, total); });
  open_store(experts, options, progress);

  const PoolMemory memory{device_->buffer_type(), device_->host_visible(), options.staged};
  for (size_t c = 0; c < layout().classes.size(); ++c) {
    const int64_t n_experts = layout().n_experts_in(static_cast<int32_t>(c));
    pools_.push_back(
        std::make_unique<SlotPool>(layout().classes[c], static_cast<int32_t>(n_experts), memory));
  }
}

void OpenModel::open_store(const GgufExperts& experts, const ModelOptions& options,
                           const OpenProgress& progress) {
  switch (options.store) {
    case StoreKind::kPack:
      store_ = std::make_unique<PackStore>(options.pack_path, experts, options.verify_reads);
      break;
    case StoreKind::kGguf: store_ = std::make_unique<GgufStore>(experts); break;
    case StoreKind::kMemory:
      store_ = std::make_unique<HostStore>(
          experts,
          device_->repacked_type() != nullptr ? WeightLayout::kRepacked : WeightLayout::kPlain,
          [&](uint64_t done, uint64_t total) {
            return !progress || progress("experts", done, total);
          });
      break;
  }
  if (options.fault_seed != 0) {
    faulty_ = std::make_unique<FaultyStore>(*store_, options.fault_seed);
  }
}

}  // namespace runahead
