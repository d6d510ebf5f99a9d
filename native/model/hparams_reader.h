// model/hparams_reader.h
//
// HparamsReader reads metadata under "<architecture>." with bounds. All failures are Error naming
// the file, the key and the value.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "gguf/gguf_file.h"
#include "model/hparams.h"

namespace runahead {

class HparamsReader {
 public:
  explicit HparamsReader(const GgufFile& file);

  // What nearly all families have: layers, heads, rotary embedding with its scaling, experts. Not
  // set: what an absent key means differs between families (n_ff_expert, n_ff_shared are 0 then).
  [[nodiscard]] Hparams common() const;
  // Derives and checks; the last thing a family does. Returns h.
  [[nodiscard]] Hparams finish(Hparams h) const;

  // 1 to max.
  [[nodiscard]] int32_t size(const std::string& key, uint64_t max) const;
  // The same; `missing` when absent.
  [[nodiscard]] int32_t positive_or(const std::string& key, int32_t missing, uint64_t max) const;
  // 0 to max; `missing` when absent.
  [[nodiscard]] int32_t size_or(const std::string& key, int32_t missing, uint64_t max) const;
  // One number for all layers, from `min`, or an array of one each, from 0.
  [[nodiscard]] std::vector<int32_t> per_layer(const std::string& key, int32_t n_layer,
                                               int32_t missing, int64_t min, int64_t max) const;
  [[nodiscard]] float number(const std::string& key, double missing, double min, double max) const;
  [[nodiscard]] bool flag(const std::string& key, bool missing) const;
  [[nodiscard]] bool has(const std::string& key) const;
  // Which layers look at a window only: attention.sliding_window_pattern, as one flag per layer or
  // as a period of which the last layer looks at everything; `period` when absent.
  [[nodiscard]] std::vector<int32_t> window_layers(int32_t n_layer, int32_t period) const;
  // leading_dense_block_count: so many layers have no experts.
  void read_dense_layers(Hparams& h) const;
  // What DeepSeek began: expert_gating_func (0 or absent: `missing`), expert_weights_norm (absent:
  // no), expert_weights_scale; a bias that may decide who is chosen; and expert_shared_count
  // experts of the usual size as the shared one.
  void read_routing(Hparams& h, Gating missing) const;
  [[noreturn]] void fail(ErrorCode code, const std::string& key, const std::string& what) const;

 private:
  [[nodiscard]] Rope rope(int32_t head_dim, int32_t context_length) const;

  const GgufFile& file_;
  std::string prefix_;
};

}  // namespace runahead
