#include "model/graph.h"

#include <algorithm>

#include "base/error.h"

namespace runahead {

Graph::Graph(int32_t max_nodes) {
  const size_t n = static_cast<size_t>(max_nodes);
  ggml_init_params params{ggml_tensor_overhead() * n * 2 + ggml_graph_overhead_custom(n, false),
                          nullptr, true};
  ctx_.reset(ggml_init(params));
  CHECK(ctx_ != nullptr);
  graph_ = ggml_new_graph_custom(ctx_.get(), n, false);
}

ggml_tensor* Graph::placeholder(Binding binding, const ggml_tensor* prototype) {
  for (const Placeholder& known : placeholders_) {
    if (known.binding == binding && ggml_are_same_shape(known.leaf, prototype) &&
        known.leaf->type == prototype->type) {
      return known.leaf;
    }
  }
  ggml_tensor* leaf = ggml_new_tensor(ctx(), prototype->type, GGML_MAX_DIMS, prototype->ne);
  std::copy_n(prototype->nb, GGML_MAX_DIMS, leaf->nb);
  leaf->data = prototype->data;
  leaf->buffer = prototype->buffer;
  leaf->extra = prototype->extra;
  placeholders_.push_back({binding, leaf});
  return leaf;
}

ggml_tensor* Graph::placeholder_as(Binding binding, ggml_type type, int64_t ne0, int64_t ne1,
                                   int64_t ne2, size_t nb1, size_t nb2) {
  ggml_tensor* leaf = ggml_new_tensor_3d(ctx(), type, ne0, ne1, ne2);
  leaf->nb[1] = nb1;
  leaf->nb[2] = nb2;
  leaf->nb[3] = nb2 * static_cast<size_t>(ne2);
  placeholders_.push_back({binding, leaf});
  return leaf;
}

ggml_tensor* Graph::fixed(const ggml_tensor* memory, size_t offset, int64_t ne0, int64_t ne1) {
  ggml_tensor* leaf = ggml_new_tensor_2d(ctx(), memory->type, ne0, ne1);
  leaf->data = static_cast<char*>(memory->data) + offset;
  leaf->buffer = memory->buffer;
  leaf->extra = memory->extra;
  return leaf;
}

ggml_tensor* Graph::input(ggml_type type, int64_t ne0, int64_t ne1) {
  ggml_tensor* tensor = ggml_new_tensor_2d(ctx(), type, ne0, ne1);
  ggml_set_input(tensor);
  return tensor;
}

void Graph::output(ggml_tensor* tensor) {
  ggml_set_output(tensor);
  expand(tensor);
}

void Graph::bind(const std::function<const ggml_tensor*(Binding)>& find) {
  for (const Placeholder& placeholder : placeholders_) {
    const ggml_tensor* source = find(placeholder.binding);
    CHECK(source != nullptr && source->data != nullptr);
    placeholder.leaf->data = source->data;
    placeholder.leaf->buffer = source->buffer;
    placeholder.leaf->extra = source->extra;
    if (placeholder.binding.source == Source::kPool) {
      placeholder.leaf->ne[2] = source->ne[2];
    }
  }
  for (const View& view : views_) {
    view.view->data = static_cast<char*>(view.leaf->data) + view.view->view_offs;
    view.view->buffer = view.leaf->buffer;
  }
}

void Graph::allocate(ggml_backend_buffer_type_t type) {
  allocator_.reset(ggml_gallocr_new(type));
  allocate_from(allocator_.get());
}

size_t Graph::memory_bytes() const {
  return allocator_ == nullptr ? 0 : ggml_gallocr_get_buffer_size(allocator_.get(), 0);
}

void Graph::allocate_from(ggml_gallocr_t shared) {
  if (!ggml_gallocr_alloc_graph(shared, graph_)) {
    throw Error(ErrorCode::kNoMemory, "no memory for the intermediate results of a graph");
  }
  for (ggml_tensor* tensor = ggml_get_first_tensor(ctx()); tensor != nullptr;
       tensor = ggml_get_next_tensor(ctx(), tensor)) {
    const auto leaf =
        std::find_if(placeholders_.begin(), placeholders_.end(),
                     [&](const Placeholder& p) { return p.leaf == tensor->view_src; });
    if (tensor->view_src != nullptr && leaf != placeholders_.end()) {
      views_.push_back({tensor, leaf->leaf});
    }
  }
}

}  // namespace runahead
