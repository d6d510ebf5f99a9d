#include "model/attention.h"

#include <cmath>
#include <string>

namespace runahead {

float attention_scale(const Builder& b) {
  const float scale = b.hparams().attention_scale;
  return scale != 0.0F ? scale : 1.0F / std::sqrt(static_cast<float>(b.layer().head_dim));
}

ggml_tensor* rope(Builder& b, ggml_tensor* x, ggml_tensor* factors) {
  const Rope& r = b.layer().rope;
  if (r.n_rot == 0) {
    return x;
  }
  return ggml_rope_ext(b.ctx(), x, b.attention().positions, factors, r.n_rot,
                       r.neox ? GGML_ROPE_TYPE_NEOX : GGML_ROPE_TYPE_NORMAL, r.n_ctx_orig, r.base,
                       r.freq_scale, r.ext_factor, r.attn_factor, 32.0F, 1.0F);
}

ggml_tensor* rope_factors(Builder& b) {
  if (ggml_tensor* only = b.find_model("rope_freqs.weight"); only != nullptr) {
    return only;
  }
  const bool is_long = b.hparams().context > b.layer().rope.n_ctx_orig;
  return b.find_model(is_long ? "rope_factors_long.weight" : "rope_factors_short.weight");
}

ggml_tensor* as_heads(Builder& b, const std::string& name, ggml_tensor* y, int64_t head_dim,
                      int64_t n_head) {
  ggml_tensor* norm = b.find(name + "_norm.weight");
  if (norm != nullptr && norm->ne[0] == y->ne[0]) {
    return ggml_reshape_3d(b.ctx(), b.rms_norm(y, norm), head_dim, n_head, b.n());
  }
  y = ggml_reshape_3d(b.ctx(), y, head_dim, n_head, b.n());
  return norm == nullptr ? y : b.rms_norm(y, norm);
}

ggml_tensor* attend(Builder& b, ggml_tensor* q, ggml_tensor* k, ggml_tensor* v,
                    const AttendOptions& options, int64_t v_dim) {
  const LayerHparams& l = b.layer();
  const AttentionInputs& in = b.attention();
  ggml_context* ctx = b.ctx();
  constexpr ggml_type kType = GGML_TYPE_F16;
  v_dim = v == nullptr ? v_dim : l.head_dim_v;

  k = ggml_reshape_2d(ctx, k, l.n_embd_k(), b.n());
  v = v == nullptr ? nullptr : ggml_reshape_2d(ctx, v, l.n_embd_v(), b.n());

  const int64_t n_request = in.decode ? b.n() : 1;
  const int64_t n_column = in.decode ? 1 : b.n();
  ggml_tensor* result = nullptr;
  for (int64_t r = 0; r < n_request; ++r) {
    const int64_t n_kv = in.n_kv[static_cast<size_t>(r)];
    ggml_tensor* rows =
        ggml_view_1d(ctx, in.kv_rows, n_column, static_cast<size_t>(r) * in.kv_rows->nb[0]);
    // The caches are written before they are read: nodes run in the order in which they are
    // expanded.
    const auto write = [&](SessionPart part, ggml_tensor* all, int64_t width) {
      ggml_tensor* values =
          ggml_view_2d(ctx, all, width, n_column, all->nb[1], static_cast<size_t>(r) * all->nb[1]);
      const size_t row = ggml_row_size(kType, width);
      ggml_tensor* target =
          b.session(r, part, kType, width, n_kv, 1, row, row * static_cast<size_t>(n_kv));
      b.graph().expand(ggml_set_rows(ctx, target, values, rows));
    };
    const auto read = [&](SessionPart part, int64_t dim, int64_t stride, int64_t width) {
      return b.session(r, part, kType, dim, n_kv, l.n_head_kv, ggml_row_size(kType, width),
                       ggml_row_size(kType, stride));
    };
    write(kKeys, k, l.n_embd_k());
    if (v != nullptr) {
      write(kValues, v, l.n_embd_v());
    }
    ggml_tensor* keys = read(kKeys, l.head_dim, l.head_dim, l.n_embd_k());
    ggml_tensor* values = v != nullptr ? read(kValues, v_dim, v_dim, l.n_embd_v())
                                       : read(kKeys, v_dim, l.head_dim, l.n_embd_k());
    ggml_tensor* mask = l.window > 0 ? in.window_mask : in.mask;
    if (in.decode) {
      const size_t mask_bytes = static_cast<size_t>(n_kv) * sizeof(ggml_fp16_t);
      mask = b.session(r, l.window > 0 ? kWindowMask : kMask, kType, n_kv, 1, 1, mask_bytes,
                       mask_bytes);
    }
    ggml_tensor* queries = ggml_view_3d(ctx, q, l.head_dim, l.n_head, n_column, q->nb[1], q->nb[2],
                                        static_cast<size_t>(r) * q->nb[2]);
    ggml_tensor* attended = ggml_flash_attn_ext(ctx, ggml_permute(ctx, queries, 0, 2, 1, 3), keys,
                                                values, mask, options.scale, 0.0F, 0.0F);
    if (options.sinks != nullptr) {
      ggml_flash_attn_ext_add_sinks(attended, options.sinks);
    }
    ggml_prec_set_acc(attended, GGML_PREC_F32);
    attended = ggml_reshape_2d(ctx, attended, v_dim * l.n_head, n_column);
    result = result == nullptr ? attended : ggml_concat(ctx, result, attended, 1);
  }
  return result;
}

Heads query_key_value(Builder& b, ggml_tensor* x, bool normalise, int64_t q_dim) {
  const LayerHparams& l = b.layer();
  ggml_tensor* all = l.fused_qkv ? b.linear("attn_qkv", x) : nullptr;
  int64_t used = 0;
  const auto heads = [&](const char* name, int64_t head_dim, int64_t n_head) {
    const int64_t width = head_dim * n_head;
    ggml_tensor* y =
        all == nullptr ? b.linear(name, x) : ggml_cont(b.ctx(), b.part(all, used, width));
    used += width;
    return normalise ? as_heads(b, name, y, head_dim, n_head)
                     : ggml_reshape_3d(b.ctx(), y, head_dim, n_head, b.n());
  };
  ggml_tensor* q = heads("attn_q", q_dim > 0 ? q_dim : l.head_dim, l.n_head);
  ggml_tensor* k = heads("attn_k", l.head_dim, l.n_head_kv);
  if (all == nullptr && b.find("attn_v.weight") == nullptr) {
    return {q, k, k};
  }
  return {q, k, heads("attn_v", l.head_dim_v, l.n_head_kv)};
}

ggml_tensor* grouped_query_attention(Builder& b, ggml_tensor* x) {
  const Heads heads = query_key_value(b, x);
  ggml_tensor* factors = rope_factors(b);
  ggml_tensor* q = rope(b, heads.q, factors);
  ggml_tensor* k = rope(b, heads.k, factors);
  const AttendOptions options{attention_scale(b), b.find("attn_sinks.weight")};
  return b.linear("attn_output", attend(b, q, k, heads.v, options));
}

ggml_tensor* gated_attention(Builder& b, ggml_tensor* x) {
  const LayerHparams& l = b.layer();
  ggml_context* ctx = b.ctx();
  const Heads heads = query_key_value(b, x, false, int64_t{2} * l.head_dim);
  ggml_tensor* q = rope(b, b.norm("attn_q_norm", b.part(heads.q, 0, l.head_dim)));
  ggml_tensor* gate = b.part(heads.q, l.head_dim, l.head_dim);
  gate = ggml_cont_2d(ctx, gate, l.n_embd_q(), b.n());
  ggml_tensor* k = rope(b, b.norm("attn_k_norm", heads.k));
  ggml_tensor* found = attend(b, q, k, heads.v, {attention_scale(b)});
  return b.linear("attn_output", ggml_mul(ctx, found, ggml_sigmoid(ctx, gate)));
}

}  // namespace runahead
