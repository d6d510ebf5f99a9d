// model/graph.h
//
// Graph is a ggml graph built once for a shape and run many times: everything that differs from run
// to run (the weights of the layer, the KV caches, the expert pool, state) is a *placeholder* leaf
// that is pointed at the right memory before each run. So one graph serves every layer of a kind
// and every group of its size.
//
// Life: build nodes with ctx(); bind() every placeholder; allocate(); then per run bind(), set
// inputs, compute. Engine thread only.

#pragma once

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml-cpp.h>
#include <ggml.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace runahead {

// Whose memory a placeholder stands for.
enum class Source : uint8_t {
  kModel,    // tensors of the whole model: embedding, output norm, LM head
  kLayer,    // tensors of a layer
  kPool,     // the pool of the slot class of the experts that run, one tensor per matrix
  kState,    // rows kept between jobs
  kSession,  // what a request's session keeps of a layer: see SessionPart
};

struct Binding {
  Source source;
  int32_t index;
  int32_t offset = 0;  // kLayer, kSession: so many layers behind the first of the run
  bool operator==(const Binding&) const = default;
};

class Graph {
 public:
  explicit Graph(int32_t max_nodes);
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  [[nodiscard]] ggml_context* ctx() const { return ctx_.get(); }
  [[nodiscard]] ggml_cgraph* cgraph() const { return graph_; }

  // A leaf with `prototype`'s type, shape, strides and, until bind(), memory. Pool leaves follow
  // the bound tensor's ne[2]: a pool grows.
  ggml_tensor* placeholder(Binding binding, const ggml_tensor* prototype);
  // The same memory seen with another shape, contiguous except for the strides given (bytes).
  ggml_tensor* placeholder_as(Binding binding, ggml_type type, int64_t ne0, int64_t ne1,
                              int64_t ne2, size_t nb1, size_t nb2);
  // Memory that does not change with the run: `offset` bytes into `memory`, as a matrix [ne0, ne1].
  ggml_tensor* fixed(const ggml_tensor* memory, size_t offset, int64_t ne0, int64_t ne1);
  // A leaf that the caller fills before each run.
  ggml_tensor* input(ggml_type type, int64_t ne0, int64_t ne1 = 1);
  // Keeps a result readable after the run.
  void output(ggml_tensor* tensor);
  void expand(ggml_tensor* tensor) { ggml_build_forward_expand(graph_, tensor); }

  // Points every placeholder at memory: `find` gives the tensor a binding now stands for.
  void bind(const std::function<const ggml_tensor*(Binding)>& find);
  // Allocates inputs and intermediates, from memory of its own or of `shared`, which serves one
  // graph at a time. REQUIRES: bound.
  void allocate(ggml_backend_buffer_type_t type);
  void allocate_from(ggml_gallocr_t shared);
  // Of its own intermediates.
  [[nodiscard]] size_t memory_bytes() const;

 private:
  struct Placeholder {
    Binding binding;
    ggml_tensor* leaf;
  };
  struct View {  // nodes that look into a placeholder
    ggml_tensor* view;
    ggml_tensor* leaf;
  };

  ggml_context_ptr ctx_;
  ggml_cgraph* graph_;
  ggml_gallocr_ptr allocator_;
  std::vector<Placeholder> placeholders_;
  std::vector<View> views_;
};

}  // namespace runahead
