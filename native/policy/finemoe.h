// policy/finemoe.h
//
// FineMoE (Yu, Cui, Zhang, Wang, Wang: "Taming Latency-Memory Trade-Off in MoE-Based LLM Serving
// via Fine-Grained Expert Offloading", EuroSys 2026, arXiv 2502.05370; github.com/IntelliSys-Lab/
// FineMoE-EuroSys26). A store keeps the expert maps of past tokens (policy/expert_map_store.h); a
// running token is matched with them by the cosine of its trajectory so far, and the most similar
// map predicts the layer at the prefetch distance: read are the most probable experts, until their
// mass reaches 1 - similarity, and never fewer than a token uses. A prediction's score is the map's
// probability; their eviction multiplies it, of every expert of the layer, with the use count.
//
// Settings are the Bevy paper's (section 5.1): 4096 maps, distance 3.
//
// What differs from the paper and its code, and why:
// - For the layers before the distance, they search by the token's embedding, before layer 0. A
//   Prefetcher sees no embedding and is first asked after the first router. So the first job of a
//   token predicts all layers up to the distance, from the map whose first layer is most alike:
//   that router reads little more than the embedding. Layer 0 itself is never predicted.
// - Their code predicts, from each layer l, all layers from l + 1 + distance on. Here each job
//   predicts layer l + distance only: the next job predicts the next layer, from a longer
//   trajectory, before a reader would get so far, since the nearest layer is read first.
// - Their code stops with the last expert before the mass is reached; here it is reached.
// - A full store replaces the map most similar to the new one, as theirs does, but by trajectory
//   only; they mix in the embedding's similarity with weight distance / n_layer.
// - The store starts empty and learns from decoded tokens; they fill it from earlier prompts or, in
//   the online mode, from prompt tokens too. Maps of a step are added when the next one begins.

#pragma once

#include <memory>

#include "policy/prefetcher.h"

namespace runahead {

[[nodiscard]] std::unique_ptr<Prefetcher> make_finemoe(const ModelShape& shape,
                                                       int32_t n_maps = 4096);

}  // namespace runahead
