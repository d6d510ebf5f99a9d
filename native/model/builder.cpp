#include "model/builder.h"

#include <cmath>

#include "base/error.h"

namespace runahead {

ggml_tensor* Builder::model(int32_t index) {
  return graph_.placeholder({Source::kModel, index}, (*model_)[static_cast<size_t>(index)]);
}

ggml_tensor* Builder::layer(int32_t index) {
  return graph_.placeholder({Source::kLayer, index, ahead_}, (*layer_)[static_cast<size_t>(index)]);
}

ggml_tensor* Builder::moe(int32_t index) {
  return graph_.placeholder({Source::kMoe, index}, (*moe_)[static_cast<size_t>(index)]);
}

ggml_tensor* Builder::state(int32_t index, const ggml_tensor* prototype) {
  return graph_.placeholder({Source::kState, index}, prototype);
}

ggml_tensor* Builder::linear(ggml_tensor* weight, ggml_tensor* x) {
  const ProductForm form = exactness_ == nullptr ? ProductForm::kBatch : exactness_->form(weight);
  if (form == ProductForm::kBatch) {
    return ggml_mul_mat(ctx(), weight, x);
  }
  if (form == ProductForm::kOneExpert) {
    ggml_tensor* ids =
        graph_.placeholder_as({Source::kState, kZeros}, GGML_TYPE_I32, 1, n_, 1, zeros_->nb[1],
                              zeros_->nb[1] * static_cast<size_t>(n_));
    ids->buffer = zeros_->buffer;
    ids->data = zeros_->data;
    ggml_tensor* y =
        ggml_mul_mat_id(ctx(), weight, ggml_reshape_3d(ctx(), x, x->ne[0], 1, n_), ids);
    return ggml_reshape_2d(ctx(), y, weight->ne[1], n_);
  }
  ggml_tensor* y = nullptr;
  for (int64_t i = 0; i < n_; ++i) {
    ggml_tensor* column = ggml_mul_mat(
        ctx(), weight,
        ggml_view_2d(ctx(), x, x->ne[0], 1, x->nb[1], static_cast<size_t>(i) * x->nb[1]));
    y = y == nullptr ? column : ggml_concat(ctx(), y, column, 1);
  }
  return y;
}

ggml_tensor* Builder::rms_norm(ggml_tensor* x, ggml_tensor* weight) {
  return ggml_mul(ctx(), ggml_rms_norm(ctx(), x, hparams_.rms_eps), weight);
}

ggml_tensor* Builder::rope_neox(ggml_tensor* x) {
  return ggml_rope_ext(ctx(), x, attention_.positions, nullptr, hparams_.head_dim,
                       GGML_ROPE_TYPE_NEOX, hparams_.context_length, hparams_.rope_base, 1.0F, 0.0F,
                       1.0F, 32.0F, 1.0F);
}

ggml_tensor* Builder::attend(ggml_tensor* q, ggml_tensor* k, ggml_tensor* v, float scale) {
  const ggml_tensor* cache = attention_.kv_prototype;
  const int64_t head_dim = hparams_.head_dim;
  const int64_t n_embd_kv = hparams_.n_embd_kv();
  const size_t row_bytes = cache->nb[1];
  const size_t head_bytes = ggml_row_size(cache->type, head_dim);
  k = ggml_reshape_2d(ctx(), k, n_embd_kv, n_);
  v = ggml_reshape_2d(ctx(), v, n_embd_kv, n_);

  const int64_t n_request = attention_.decode ? n_ : 1;
  const int64_t n_column = attention_.decode ? 1 : n_;
  ggml_tensor* result = nullptr;
  for (int64_t r = 0; r < n_request; ++r) {
    const auto slot = static_cast<int32_t>(3 * r);
    const int64_t n_kv = attention_.n_kv[static_cast<size_t>(r)];
    const auto column = [&](ggml_tensor* t) {
      return ggml_view_2d(ctx(), t, t->ne[0], n_column, t->nb[1],
                          static_cast<size_t>(r) * t->nb[1]);
    };
    ggml_tensor* rows = ggml_view_1d(ctx(), attention_.kv_rows, n_column,
                                     static_cast<size_t>(r) * attention_.kv_rows->nb[0]);
    // The caches are written before they are read: nodes run in the order in which they are
    // expanded.
    const auto write = [&](int32_t index, ggml_tensor* values) {
      ggml_tensor* target =
          graph_.placeholder_as({Source::kKv, slot + index}, cache->type, n_embd_kv, n_kv, 1,
                                row_bytes, row_bytes * static_cast<size_t>(n_kv));
      graph_.expand(ggml_set_rows(ctx(), target, column(values), rows));
    };
    write(0, k);
    write(1, v);
    const auto read = [&](int32_t index) {  // [head_dim, n_kv, n_head_kv]
      return graph_.placeholder_as({Source::kKv, slot + index}, cache->type, head_dim, n_kv,
                                   hparams_.n_head_kv, row_bytes, head_bytes);
    };
    const size_t mask_bytes = static_cast<size_t>(n_kv) * sizeof(ggml_fp16_t);
    ggml_tensor* mask = attention_.decode
                            ? graph_.placeholder_as({Source::kKv, slot + 2}, GGML_TYPE_F16, n_kv, 1,
                                                    1, mask_bytes, mask_bytes)
                            : attention_.mask;
    ggml_tensor* queries = ggml_view_3d(ctx(), q, head_dim, hparams_.n_head, n_column, q->nb[1],
                                        q->nb[2], static_cast<size_t>(r) * q->nb[2]);
    ggml_tensor* attended = ggml_flash_attn_ext(ctx(), ggml_permute(ctx(), queries, 0, 2, 1, 3),
                                                read(0), read(1), mask, scale, 0.0F, 0.0F);
    ggml_prec_set_acc(attended, GGML_PREC_F32);
    attended = ggml_reshape_2d(ctx(), attended, hparams_.n_embd_q(), n_column);
    result = result == nullptr ? attended : ggml_concat(ctx(), result, attended, 1);
  }
  return result;
}

Routing Builder::route_softmax(ggml_tensor* logits) {
  const int64_t k = hparams_.n_expert_used;
  ggml_tensor* probabilities = ggml_soft_max(ctx(), logits);
  ggml_tensor* experts = ggml_argsort_top_k(ctx(), probabilities, static_cast<int>(k));
  ggml_tensor* weights = ggml_get_rows(
      ctx(), ggml_reshape_3d(ctx(), probabilities, 1, hparams_.n_expert, n_), experts);
  weights = ggml_reshape_2d(ctx(), weights, k, n_);
  // The smallest number of half precision keeps the division finite, as llama.cpp does.
  ggml_tensor* sum = ggml_clamp(ctx(), ggml_sum_rows(ctx(), weights), 6.103515625e-5F, INFINITY);
  return {ggml_cont(ctx(), experts), ggml_div(ctx(), weights, sum)};
}

ggml_tensor* Builder::pool_product(int32_t matrix, ggml_tensor* x, ggml_tensor* slots) {
  ggml_tensor* pool =
      graph_.placeholder({Source::kPool, matrix}, pool_[static_cast<size_t>(matrix)]);
  return ggml_mul_mat_id(ctx(), pool, x, slots);
}

ggml_tensor* Builder::weighted_sum(ggml_tensor* y, ggml_tensor* weights) {
  const int64_t k = y->ne[1];
  y = ggml_mul(ctx(), y, ggml_reshape_3d(ctx(), weights, 1, k, n_));
  ggml_tensor* sum = nullptr;
  for (int64_t i = 0; i < k; ++i) {
    ggml_tensor* expert =
        ggml_view_2d(ctx(), y, y->ne[0], n_, y->nb[2], static_cast<size_t>(i) * y->nb[1]);
    sum = sum == nullptr ? expert : ggml_add(ctx(), sum, expert);
  }
  return k == 1 ? ggml_cont(ctx(), sum) : sum;
}

}  // namespace runahead
