// policy/next_router.h
//
// Predicts the next layer's experts by asking its router early: the router of layer l + 1 reads
// what the router of layer l has just read. Mixtral-Offloading (Eliseev and Mazur 2023, arXiv
// 2312.17238, section 3.2, "speculative expert loading") takes as many as a token uses; SpecMD
// (Hoang et al. 2026, arXiv 2602.03921) overfetches, in the Bevy paper by 1.5 (section 5.1).

#pragma once

#include <memory>

#include "policy/prefetcher.h"

namespace runahead {

// Predicts overfetch * n_expert_used experts per token, rounded to the nearest, surest first.
[[nodiscard]] std::unique_ptr<Prefetcher> make_next_router(const ModelShape& shape,
                                                           double overfetch);

}  // namespace runahead
