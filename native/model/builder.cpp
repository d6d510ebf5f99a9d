#include "model/builder.h"

#include "base/error.h"

namespace runahead {

ggml_tensor* Builder::find_model(std::string_view name) {
  const int32_t index = model_.find(name);
  return index < 0 ? nullptr : graph_.placeholder({Source::kModel, index}, model_[index]);
}

ggml_tensor* Builder::model(std::string_view name) {
  ggml_tensor* tensor = find_model(name);
  CHECK(tensor != nullptr);
  return tensor;
}

ggml_tensor* Builder::find(std::string_view name) {
  const int32_t index = weights_->find(name);
  return index < 0 ? nullptr
                   : graph_.placeholder({Source::kLayer, index, offset_}, (*weights_)[index]);
}

ggml_tensor* Builder::weight(std::string_view name) {
  ggml_tensor* tensor = find(name);
  CHECK(tensor != nullptr);
  return tensor;
}

ggml_tensor* Builder::state(int32_t index, const ggml_tensor* prototype) {
  return graph_.placeholder({Source::kState, index}, prototype);
}

ggml_tensor* Builder::session(int64_t request, SessionPart part, ggml_type type, int64_t ne0,
                              int64_t ne1, int64_t ne2, size_t nb1, size_t nb2) {
  const auto index = static_cast<int32_t>(kSessionParts * request + part);
  return graph_.placeholder_as({Source::kSession, index, offset_}, type, ne0, ne1, ne2, nb1, nb2);
}

ggml_tensor* Builder::one_expert_product(ggml_tensor* weight, ggml_tensor* x) {
  ggml_tensor* ids = graph_.placeholder_as({Source::kState, kZeros}, GGML_TYPE_I32, 1, n_, 1,
                                           zeros_->nb[1], zeros_->nb[1] * static_cast<size_t>(n_));
  ids->buffer = zeros_->buffer;
  ids->data = zeros_->data;
  ggml_tensor* y = ggml_mul_mat_id(ctx(), weight, ggml_reshape_3d(ctx(), x, x->ne[0], 1, n_), ids);
  return ggml_reshape_2d(ctx(), y, weight->ne[1], n_);
}

ggml_tensor* Builder::product(ggml_tensor* weight, ggml_tensor* x) {
  const ProductForm form = exactness_ == nullptr ? ProductForm::kBatch : exactness_->form(weight);
  if (form == ProductForm::kBatch) {
    return ggml_mul_mat(ctx(), weight, x);
  }
  if (form == ProductForm::kOneExpert) {
    return one_expert_product(weight, x);
  }
  ggml_tensor* y = nullptr;
  for (int64_t i = 0; i < n_; ++i) {
    ggml_tensor* column = ggml_mul_mat(ctx(), weight, columns(x, i, 1));
    y = y == nullptr ? column : ggml_concat(ctx(), y, column, 1);
  }
  return y;
}

ggml_tensor* Builder::biased(ggml_tensor* y, ggml_tensor* bias) {
  return bias == nullptr ? y : ggml_add(ctx(), y, bias);
}

ggml_tensor* Builder::linear(const std::string& name, ggml_tensor* x) {
  return biased(product(weight(name + ".weight"), x), find(name + ".bias"));
}

ggml_tensor* Builder::rms_norm(ggml_tensor* x, ggml_tensor* weight) {
  return ggml_mul(ctx(), ggml_rms_norm(ctx(), x, hparams_.rms_eps), weight);
}

ggml_tensor* Builder::norm(const std::string& name, ggml_tensor* x) {
  return biased(rms_norm(x, weight(name + ".weight")), find(name + ".bias"));
}

ggml_tensor* Builder::part(ggml_tensor* x, int64_t first, int64_t n) {
  return ggml_view_3d(ctx(), x, n, x->ne[1], x->ne[2], x->nb[1], x->nb[2],
                      static_cast<size_t>(first) * x->nb[0]);
}

ggml_tensor* Builder::columns(ggml_tensor* x, int64_t first, int64_t n) {
  return ggml_view_2d(ctx(), x, x->ne[0], n, x->nb[1], static_cast<size_t>(first) * x->nb[1]);
}

ggml_tensor* Builder::scaled(ggml_tensor* x, float factor) {
  return factor == 1.0F ? x : ggml_scale(ctx(), x, factor);
}

ggml_tensor* Builder::pool_product(int32_t matrix, ggml_tensor* x, ggml_tensor* slots) {
  ggml_tensor* pool =
      graph_.placeholder({Source::kPool, matrix}, pool_[static_cast<size_t>(matrix)]);
  return ggml_mul_mat_id(ctx(), pool, x, slots);
}

}  // namespace runahead
