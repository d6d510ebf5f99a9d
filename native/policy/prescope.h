// policy/prescope.h
//
// PreScope (Yu, Zhang, Dong, Wu, Liao: "PreScope: Unleashing the Power of Prefetching for
// Resource-Constrained MoE Inference", 2025, arXiv 2509.23638). Three parts:
//
// - LLaPor, a learned predictor per MoE layer that treats the layers near the input, in the middle
//   and near the output differently: shallow ones at both ends, where the features are noisy, a
//   deeper one with a gated residual in the middle. Here policy/learned_scores.h: the outer layers
//   correct the look-ahead expert by expert; the middle ones add a linear layer over two
//   routers' scores, which is switched off where it has not helped.
// - PreSched, which weighs the cost of prefetching against that of loading on demand, across layers
//   rather than layer by layer. Here: an expert is worth a read when
//       chance > (1 - chance) * (pressure + eviction),
//   since a right guess saves a demand read, and a wrong one delays one with the share of the link
//   that demand takes (pressure), and evicts something. Of those, the surest over the next layers
//   are taken, as many as the link can read before each layer is reached and beside the demand that
//   waits now and that the layers between will bring. Reads of one length with deadlines are a
//   matroid, so taking the surest that still fits gives the best plan.
// - AsyncIO, reads beside compute: what the Fetcher does anyway.
//
// Written from the paper's abstract and summaries of it, not from its code.
//
// What differs from the paper, and why:
// - Their predictor reads hidden states, compressed by PCA, and is trained offline; ours reads
//   router scores and learns online, for the reasons in policy/promoe.h. That the ends are an
//   eighth of the layers each is our choice.
// - Their schedule takes measured times of CPU, GPU and PCIe and also chooses on which device an
//   expert runs. A Prefetcher has no clock and experts run on one device. So the link is measured
//   in reads per layer, by counting those that end between two jobs of a request, and time is
//   counted in layers.

#pragma once

#include <memory>

#include "policy/prefetcher.h"

namespace runahead {

[[nodiscard]] std::unique_ptr<Prefetcher> make_prescope(const ModelShape& shape);

}  // namespace runahead
