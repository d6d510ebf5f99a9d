// Stepper's prefill: one chunk of a prompt.

#include "exec/stepper.h"

#include <algorithm>
#include <cmath>

#include "base/clock.h"

namespace runahead {
namespace {

// Tokens at the end of a prompt that a generation prompt may consist of.
constexpr int32_t kTailTokens = 4;

// [n_kv, n]: column i sees the positions up to its own, from begin(its own) on.
template <typename Begin>
std::vector<ggml_fp16_t> causal_mask(int32_t n_kv, int32_t position, int32_t n, Begin begin) {
  const ggml_fp16_t visible = ggml_fp32_to_fp16(0.0F);
  std::vector<ggml_fp16_t> mask(static_cast<size_t>(n_kv) * static_cast<size_t>(n),
                                ggml_fp32_to_fp16(-INFINITY));
  for (int32_t i = 0; i < n; ++i) {
    const int32_t first = begin(position + i);
    std::fill_n(mask.begin() + ptrdiff_t{i} * n_kv + first, position + i + 1 - first, visible);
  }
  return mask;
}

}  // namespace

int32_t Stepper::chunk_length(const Request& request, int32_t position) const {
  const int32_t rest = request.n_prompt() - position;
  if (rest > prefill_chunk_) {
    return prefill_chunk_;
  }
  // The last tokens of a prompt are a chunk of their own, so that a checkpoint can stand before
  // them: there the next prompt of a chat begins to differ, or the same one asks again.
  return hparams_.has_recurrent_layers() && rest > kTailTokens ? rest - kTailTokens : rest;
}

Stepper::Result Stepper::prefill(Request& request, std::vector<float>& logits) {
  const int64_t begin = now_ns();
  tracer_.set_step(-1);
  KvCache& kv = request.session->kv;
  const int32_t position = request.n_prefilled;
  RecurrentState& recurrent = request.session->recurrent;
  const int32_t n = chunk_length(request, position);
  const bool last_chunk = position + n == request.n_prompt();
  const bool keep_logits = request.options.keep_logits;
  kv.reserve(position + n);
  kv.set_length(position);
  Batch batch{false, {{0, &kv, &recurrent, position}}, n, {}, {}};
  batch.mask = causal_mask(batch.n_kv(0), position, n, [](int32_t) { return 0; });
  if (hparams_.window() > 0) {
    batch.window_mask = causal_mask(batch.n_kv(0), position, n,
                                    [&](int32_t from) { return hparams_.window_begin(from); });
  }
  const std::span<const int32_t> tokens(request.options.prompt.data() + position,
                                        static_cast<size_t>(n));
  const auto stop = [&] { return request.cancelled.load(std::memory_order_relaxed); };

  RoutingResult routing;
  int32_t n_waves = 0;
  forward_.front(batch, tokens, routing);
  // Layers behind the last experts want keys and values of all columns.
  const bool ends_with_experts = hparams_.expert_layers.back() == hparams_.n_layer() - 1;
  for (int32_t layer = 0; layer < hparams_.n_job(); ++layer) {
    const bool last_layer = layer == hparams_.n_job() - 1;
    const bool one_column = last_layer && !keep_logits && ends_with_experts;
    if (one_column && !last_chunk) {
      break;  // only keys and values of this chunk will be needed
    }
    const int32_t only_column = one_column ? n - 1 : -1;
    std::optional<ExpertFeed::Failure> failure;
    if (!waves_.run(-1, layer, batch, request.id, routing, only_column, failure, stop, n_waves)) {
      return {&request, !failure, failure ? failure->message : ""};
    }
    forward_.job(Start::kCombine, layer, batch, {{}, {}, routing.weights},
                 last_layer ? nullptr : &routing);
  }
  if (keep_logits) {
    const size_t before = request.logits.size();
    request.logits.resize(before + static_cast<size_t>(n) * static_cast<size_t>(hparams_.n_vocab));
    forward_.head_of_chunk(batch, std::span(request.logits).subspan(before));
  }
  if (last_chunk) {
    logits.resize(static_cast<size_t>(hparams_.n_vocab));
    const int32_t column = n - 1;
    forward_.head(batch, std::span(&column, 1), logits);
  }
  kv.set_length(position + n);
  recurrent.advance(position + n);
  // A session that ends with its request never goes back.
  if (position + n + kTailTokens >= request.n_prompt() && !last_chunk &&
      !request.session->temporary) {
    recurrent.save_checkpoint();
  }
  request.session->tokens.insert(request.session->tokens.end(), tokens.begin(), tokens.end());
  request.n_prefilled += n;
  tracer_.span(Event::kPrefill, begin, to_int(request.id), -1, n, n_waves);
  return {&request, false, ""};
}

}  // namespace runahead
