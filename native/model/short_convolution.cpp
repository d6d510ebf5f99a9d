#include "model/short_convolution.h"

namespace runahead {

ggml_tensor* short_convolution(Builder& b, int64_t request, ggml_tensor* x, ggml_tensor* kernel) {
  ggml_context* ctx = b.ctx();
  const int64_t n_tail = kernel->ne[0] - 1;
  const int64_t n_channel = kernel->ne[1];
  const size_t row = static_cast<size_t>(n_tail) * sizeof(float);
  const auto tail = [&](SessionPart part) {
    return b.session(request, part, GGML_TYPE_F32, n_tail, n_channel, 1, row,
                     row * static_cast<size_t>(n_channel));
  };
  ggml_tensor* all = ggml_concat(ctx, tail(kConvRead), ggml_transpose(ctx, x), 0);
  ggml_tensor* last = ggml_view_2d(ctx, all, n_tail, n_channel, all->nb[1],
                                   static_cast<size_t>(x->ne[1]) * all->nb[0]);
  b.graph().expand(ggml_cpy(ctx, last, tail(kConvWritten)));
  return ggml_ssm_conv(ctx, all, kernel);
}

}  // namespace runahead
