// model/tensors.h: how families list the tensors they want. Names are the GGUF's, without "blk.N.".

#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "model/hparams.h"
#include "model/weights.h"

namespace runahead {

using TensorSpecs = std::vector<TensorSpec>;

// "<name>.weight" of n values in F32.
[[nodiscard]] TensorSpec vector_of(const std::string& name, int64_t n, bool required = true);
// "<name>.bias", the same.
[[nodiscard]] TensorSpec bias_of(const std::string& name, int64_t n, bool required = true);
// "<name>.weight", used in products only.
[[nodiscard]] TensorSpec matrix_of(const std::string& name, int64_t n_in, int64_t n_out,
                                   bool required = true);

// Embedding, output norm and head (absent: the embedding is the head).
[[nodiscard]] TensorSpecs embedding_tensors(const Hparams& h);
// The same and factors of rotary frequencies, for families whose attention() reads them.
[[nodiscard]] TensorSpecs embedding_and_rope_tensors(const Hparams& h);
// Q, K, V (or all in one), output. Biases that are there are used.
[[nodiscard]] TensorSpecs attention_tensors(const Hparams& h, int32_t il);
// Norms of Q and K: of each head, or over their full width.
[[nodiscard]] TensorSpecs head_norms(const LayerHparams& l, bool required = true);
[[nodiscard]] TensorSpecs width_norms(const LayerHparams& l);
// ffn_gate<suffix>, ffn_up<suffix>, ffn_down<suffix>.
[[nodiscard]] TensorSpecs gated_ffn_tensors(const Hparams& h, int64_t n_ff,
                                            const std::string& suffix = "");
// Router, the shared expert where the sizes have one, and what may bias the choice.
[[nodiscard]] TensorSpecs moe_tensors(const Hparams& h);

// Of a layer with experts: the same; of another: a dense FFN.
[[nodiscard]] TensorSpecs ffn_tensors(const Hparams& h, int32_t il);

[[nodiscard]] TensorSpecs joined(std::initializer_list<TensorSpecs> parts);

}  // namespace runahead
