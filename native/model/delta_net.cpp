#include "model/delta_net.h"

#include <cmath>

#include "model/short_convolution.h"

namespace runahead {
namespace {

ggml_tensor* l2_norm(Builder& b, ggml_tensor* x) {
  const auto n = static_cast<float>(x->ne[0]);
  return ggml_scale(b.ctx(), ggml_rms_norm(b.ctx(), x, b.hparams().rms_eps / n),
                    1.0F / std::sqrt(n));
}

// Each K head as often as it has V heads, those of one K head side by side.
ggml_tensor* repeat_heads(Builder& b, ggml_tensor* x, int64_t times) {
  const int64_t dim = x->ne[0];
  const int64_t n_head = x->ne[1];
  const int64_t n = x->ne[2];
  x = ggml_reshape_4d(b.ctx(), x, dim, 1, n_head, n);
  x = ggml_repeat_4d(b.ctx(), x, dim, times, n_head, n);
  return ggml_reshape_3d(b.ctx(), x, dim, n_head * times, n);
}

// One request's columns through its state. -> [head_dim, n_v_head, n]
ggml_tensor* one_request(Builder& b, int64_t request, const DeltaNetInputs& in) {
  const DeltaNet& d = b.hparams().delta_net;
  ggml_context* ctx = b.ctx();
  const int64_t n = in.qkv->ne[1];
  ggml_tensor* mixed =
      ggml_silu(ctx, short_convolution(b, request, in.qkv, b.weight("ssm_conv1d.weight")));
  const auto heads = [&](int64_t first, int64_t n_head) {
    const auto head = static_cast<size_t>(d.head_dim) * sizeof(float);
    return ggml_view_3d(ctx, mixed, d.head_dim, n_head, n, head, mixed->nb[1],
                        static_cast<size_t>(first) * sizeof(float));
  };
  ggml_tensor* q = l2_norm(b, heads(0, d.n_k_head));
  ggml_tensor* k = l2_norm(b, heads(d.n_embd_k(), d.n_k_head));
  ggml_tensor* v = heads(2 * int64_t{d.n_embd_k()}, d.n_v_head);
  if (d.interleaved && d.n_k_head != d.n_v_head) {
    q = repeat_heads(b, q, d.n_v_head / d.n_k_head);
    k = repeat_heads(b, k, d.n_v_head / d.n_k_head);
  }
  const auto scalars = [&](ggml_tensor* x) { return ggml_reshape_3d(ctx, x, 1, d.n_v_head, n); };
  const size_t row = static_cast<size_t>(d.head_dim) * sizeof(float);
  const auto state = [&](SessionPart part) {
    return b.session(request, part, GGML_TYPE_F32, d.head_dim, d.head_dim, d.n_v_head, row,
                     row * static_cast<size_t>(d.head_dim));
  };
  ggml_tensor* result =
      ggml_gated_delta_net(ctx, q, k, v, scalars(in.gate), scalars(in.beta), state(kHeadsRead), 1);
  // The outputs, then the new state.
  const size_t outputs = row * static_cast<size_t>(d.n_v_head * n);
  ggml_tensor* moved = ggml_view_3d(ctx, result, d.head_dim, d.head_dim, d.n_v_head, row,
                                    row * static_cast<size_t>(d.head_dim), outputs);
  b.graph().expand(ggml_cpy(ctx, moved, state(kHeadsWritten)));
  return ggml_view_3d(ctx, result, d.head_dim, d.n_v_head, n, row,
                      row * static_cast<size_t>(d.n_v_head), 0);
}

}  // namespace

ggml_tensor* delta_net_gate(Builder& b, ggml_tensor* alpha) {
  alpha = ggml_softplus(b.ctx(), ggml_add(b.ctx(), alpha, b.weight("ssm_dt.bias")));
  return ggml_mul(b.ctx(), alpha, b.weight("ssm_a"));
}

ggml_tensor* delta_net(Builder& b, const DeltaNetInputs& in) {
  const DeltaNet& d = b.hparams().delta_net;
  ggml_context* ctx = b.ctx();
  const bool decode = b.attention().decode;
  const int64_t n_request = decode ? b.n() : 1;
  const int64_t n = decode ? 1 : b.n();
  ggml_tensor* result = nullptr;
  for (int64_t r = 0; r < n_request; ++r) {
    const auto columns = [&](ggml_tensor* x) { return b.columns(x, r, n); };
    ggml_tensor* y =
        one_request(b, r, {columns(in.qkv), nullptr, columns(in.beta), columns(in.gate)});
    result = result == nullptr ? y : ggml_concat(ctx, result, y, 2);
  }
  result = b.norm("ssm_norm", result);  // per head
  ggml_tensor* z = ggml_reshape_3d(ctx, in.z, d.head_dim, d.n_v_head, b.n());
  result = ggml_mul(ctx, result, ggml_silu(ctx, z));
  return b.linear("ssm_out", ggml_reshape_2d(ctx, result, d.n_embd_v(), b.n()));
}

}  // namespace runahead
