#include "model/routing.h"

#include <cmath>

namespace runahead {
namespace {

ggml_tensor* scores_of(Builder& b, ggml_tensor* logits) {
  switch (b.hparams().gating) {
    case Gating::kSoftmax: return ggml_soft_max(b.ctx(), logits);
    case Gating::kSigmoid: return ggml_sigmoid(b.ctx(), logits);
    case Gating::kSoftmaxOfChosen:
    case Gating::kSigmoidOfChosen: return logits;
  }
  return logits;
}

// -inf for experts outside the best groups. A group is as good as the sum of its two best experts.
ggml_tensor* best_groups(Builder& b, ggml_tensor* scores) {
  const Hparams& h = b.hparams();
  ggml_context* ctx = b.ctx();
  const int64_t n_group = h.n_group;
  ggml_tensor* groups = ggml_reshape_3d(ctx, scores, h.n_expert / n_group, n_group, b.n());
  ggml_tensor* best = ggml_argsort_top_k(ctx, groups, 2);  // [2, n_group, n]
  best = ggml_get_rows(
      ctx, ggml_reshape_4d(ctx, groups, 1, groups->ne[0], groups->ne[1], groups->ne[2]), best);
  best = ggml_sum_rows(ctx, ggml_reshape_3d(ctx, best, 2, n_group, b.n()));
  best = ggml_reshape_2d(ctx, best, n_group, b.n());
  ggml_tensor* chosen = ggml_argsort_top_k(ctx, best, h.n_group_used);  // [n_group_used, n]
  ggml_tensor* kept = ggml_get_rows(ctx, groups, chosen);
  ggml_tensor* masked = ggml_set_rows(ctx, ggml_fill(ctx, groups, -INFINITY), kept, chosen);
  return ggml_reshape_2d(ctx, masked, h.n_expert, b.n());
}

}  // namespace

Routing top_experts(Builder& b, ggml_tensor* logits) {
  const Hparams& h = b.hparams();
  ggml_context* ctx = b.ctx();
  const int64_t k = h.n_expert_used;
  ggml_tensor* scores = scores_of(b, logits);
  ggml_tensor* ranking = scores;
  if (ggml_tensor* bias = b.find("exp_probs_b.bias"); bias != nullptr) {
    ranking = ggml_add(ctx, ranking, bias);
  }
  if (h.n_group > 1) {
    ranking = best_groups(b, ranking);
  }
  ggml_tensor* experts = ggml_argsort_top_k(ctx, ranking, static_cast<int>(k));
  ggml_tensor* weights =
      ggml_get_rows(ctx, ggml_reshape_3d(ctx, scores, 1, h.n_expert, b.n()), experts);
  weights = ggml_reshape_2d(ctx, weights, k, b.n());
  if (h.gating == Gating::kSoftmaxOfChosen) {
    weights = ggml_soft_max(ctx, weights);
  } else if (h.gating == Gating::kSigmoidOfChosen) {
    weights = ggml_sigmoid(ctx, weights);
  }
  if (h.normalise_weights) {
    // The smallest number of half precision keeps the division finite, as llama.cpp does.
    ggml_tensor* sum = ggml_clamp(ctx, ggml_sum_rows(ctx, weights), 6.103515625e-5F, INFINITY);
    weights = ggml_div(ctx, weights, sum);
  }
  return {ggml_cont(ctx, experts), b.scaled(weights, h.weights_scale)};
}

ggml_tensor* of_experts(Builder& b, ggml_tensor* values, ggml_tensor* experts) {
  ggml_context* ctx = b.ctx();
  ggml_tensor* ids = ggml_reshape_1d(ctx, experts, ggml_nelements(experts));
  ggml_tensor* found = ggml_get_rows(ctx, ggml_reshape_2d(ctx, values, 1, values->ne[0]), ids);
  return ggml_reshape_2d(ctx, found, experts->ne[0], experts->ne[1]);
}

ggml_tensor* weighted_inputs(Builder& b, ggml_tensor* x, ggml_tensor* weights) {
  ggml_context* ctx = b.ctx();
  const int64_t k = weights->ne[0];
  x = ggml_reshape_3d(ctx, x, x->ne[0], 1, b.n());
  x = ggml_repeat_4d(ctx, x, x->ne[0], k, b.n(), 1);
  return ggml_mul(ctx, x, ggml_reshape_3d(ctx, weights, 1, k, b.n()));
}

ggml_tensor* weighted_sum(Builder& b, ggml_tensor* y, ggml_tensor* weights) {
  ggml_context* ctx = b.ctx();
  const int64_t k = y->ne[1];
  if (!b.hparams().weights_on_input) {
    y = ggml_mul(ctx, y, ggml_reshape_3d(ctx, weights, 1, k, b.n()));
  }
  ggml_tensor* sum = nullptr;
  for (int64_t i = 0; i < k; ++i) {
    ggml_tensor* expert =
        ggml_view_2d(ctx, y, y->ne[0], b.n(), y->nb[2], static_cast<size_t>(i) * y->nb[1]);
    sum = sum == nullptr ? expert : ggml_add(ctx, sum, expert);
  }
  return k == 1 ? ggml_cont(ctx, sum) : sum;
}

}  // namespace runahead
