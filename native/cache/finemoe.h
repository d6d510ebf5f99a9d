// cache/finemoe.h
//
// FineMoeEviction is the policy of Yu, Cui, Zhang, Wang and Wang, "Taming the latency-memory
// trade-off in MoE-based LLM serving via fine-grained expert offloading" (FineMoE, EuroSys 2026,
// arXiv 2502.05370; first named fMoE) and of its open-source implementation: the expert with the
// lowest product of usage frequency and predicted probability goes first. Ties go to the one unused
// longest.
//
// The frequency is the uses since the engine opened; absent experts keep theirs. The probability is
// that of the most recent step that predicted the expert; within a step the largest counts, as
// FineMoE takes the maximum over its batch. FineMoE predicts whole layers, so that each expert soon
// has a probability; until then it counts as the average expert of its layer, which makes the
// policy LFU where nothing is predicted.
//
// O(log n), nothing is allocated after the constructor.

#pragma once

#include <vector>

#include "cache/evictable_heap.h"
#include "cache/eviction.h"

namespace runahead {

class FineMoeEviction : public Eviction {
 public:
  FineMoeEviction(int32_t n_layer, int32_t n_expert);

  void used(ExpertId id) override;
  void evictable(ExpertId id, SlotId slot) override;
  void not_evictable(ExpertId id, SlotId slot) override;
  [[nodiscard]] ExpertId victim() const override;
  void step_started() override;
  void predicted(ExpertId id, float probability) override;

 private:
  struct Expert {
    uint64_t uses = 0;
    double probability = 0;
    uint64_t predicted_in = 0;  // step of the prediction, 0: none yet
    [[nodiscard]] double rank() const { return static_cast<double>(uses) * probability; }
  };
  EvictableHeap<double> heap_;
  std::vector<Expert> experts_;  // [n_layer * n_expert]
  uint64_t step_ = 1;
};

}  // namespace runahead
