// policy/promoe.h
//
// ProMoE (Song, Zhong, Chen, Chen: "ProMoE: Fast MoE-based LLM Serving using Proactive Caching",
// 2024, arXiv 2410.22134). A learned predictor per layer looks a stride ahead: from what layer l
// has computed it names the experts of layer l + stride, as many as a token uses, so that their
// reads have that many layers of time. Reads that the true routing has overtaken are dropped, and
// demand goes first, which the Scheduler does for every prefetcher.
//
// Written from the paper's abstract and summaries of it, not from its code.
//
// What differs from the paper, and why:
// - Their predictor is a small MLP over hidden states, trained offline on a data set. A Prefetcher
//   sees no hidden states and a user has no training run, so here it is policy/learned_scores.h:
//   one linear layer, learned online on the run's own past, over what this layer's router and the
//   later one see of the current hidden state. Those are two projections of it, one of them made
//   for the very choice that is predicted. It begins as good as the later router asked early.
// - The stride of 2 and naming as many experts as a token uses are our choices: with one layer the
//   reads come late, and each further layer costs accuracy. The first job of a token also predicts
//   the layers before the stride.
// - Chunked transfers and reordering the experts of a layer are not the prefetcher's to do: here
//   reads are never preempted midway, and a layer's experts are one kernel.

#pragma once

#include <memory>

#include "policy/prefetcher.h"

namespace runahead {

[[nodiscard]] std::unique_ptr<Prefetcher> make_promoe(const ModelShape& shape);

}  // namespace runahead
