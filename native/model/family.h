// model/family.h
//
// A family is how one architecture reads its hyper-parameters, names its tensors and builds its
// layers. One short file each; adding one means adding its file and its line in family.cpp. Most
// are a Decoder (decoder.h) with other options.
//
// The parts of a job graph, in order: what the experts of layer l gave is joined with the rest of
// that layer (or embed, for the front); attention and dense FFN of each layer without experts that
// follows; attention and router of the next layer with experts. head ends a step.

#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "gguf/gguf_file.h"
#include "model/builder.h"
#include "model/ffn.h"
#include "model/hparams.h"
#include "model/routing.h"
#include "model/weights.h"
#include "store/gguf_experts.h"

namespace runahead {

class Family {
 public:
  virtual ~Family() = default;

  [[nodiscard]] virtual Hparams read_hparams(const GgufFile& file) const = 0;
  [[nodiscard]] virtual std::vector<TensorSpec> model_tensors(const Hparams& h) const = 0;
  [[nodiscard]] virtual std::vector<TensorSpec> layer_tensors(const Hparams& h,
                                                              int32_t il) const = 0;

  // tokens: I32 [n] -> x [n_embd, n]
  [[nodiscard]] virtual ggml_tensor* embed(Builder& b, ggml_tensor* tokens) const = 0;
  // x -> the residual after attention, [n_embd, n]
  [[nodiscard]] virtual ggml_tensor* attention(Builder& b, ggml_tensor* x) const = 0;
  // The same residual -> what a layer without experts gives, [n_embd, n].
  [[nodiscard]] virtual ggml_tensor* dense_ffn(Builder& b, ggml_tensor* x) const = 0;
  // The same residual -> what the router reads, [n_embd, n].
  [[nodiscard]] virtual ggml_tensor* router_input(Builder& b, ggml_tensor* x) const = 0;
  // What a router reads -> its logits, [n_expert, n]. The next layers' routers are asked, too, for
  // prefetchers: each reads what this layer's reads.
  [[nodiscard]] virtual ggml_tensor* router_logits(Builder& b, ggml_tensor* input) const = 0;
  // Logits -> which experts.
  [[nodiscard]] virtual Routing route(Builder& b, ggml_tensor* logits) const = 0;
  // The residual -> what the experts read: [n_embd, n].
  [[nodiscard]] virtual ggml_tensor* expert_input(Builder& b, ggml_tensor* x) const = 0;
  // One or several experts' FFN: x [n_embd, ...] -> [n_embd, ...].
  [[nodiscard]] virtual ggml_tensor* expert_ffn(Builder& b, ggml_tensor* x,
                                                const ExpertOps& ops) const = 0;
  // The weighted sum of the experts' outputs and the residual before them -> what the layer gives.
  [[nodiscard]] virtual ggml_tensor* join_experts(Builder& b, ggml_tensor* sum,
                                                  ggml_tensor* x) const = 0;
  // x [n_embd, n] -> logits [n_vocab, n]
  [[nodiscard]] virtual ggml_tensor* head(Builder& b, ggml_tensor* x) const = 0;
};

// Throws Error(kUnsupported) naming the architecture and the supported ones.
[[nodiscard]] std::unique_ptr<Family> make_family(const GgufFile& file);

// The experts of every job, with the shapes that the sizes demand. Throws Error naming the file,
// the tensor and what is wrong.
[[nodiscard]] GgufExperts family_experts(const GgufFile& file, const Hparams& h);

// Throws Error when a tensor of the layers is missing, has another shape, or would be ignored:
// then the file is of a variant that would give wrong results.
void check_tensors(const GgufFile& file, const Family& family, const Hparams& h);

// "" when this engine can run the file; else the reason, one sentence.
[[nodiscard]] std::string why_unsupported(const GgufFile& file);

// Each family's maker, in its own file.
std::unique_ptr<Family> make_bailingmoe2();
std::unique_ptr<Family> make_deepseek2();
std::unique_ptr<Family> make_dots1();
std::unique_ptr<Family> make_ernie45moe();
std::unique_ptr<Family> make_gemma4();
std::unique_ptr<Family> make_glm4moe();
std::unique_ptr<Family> make_gptoss();
std::unique_ptr<Family> make_granitemoe();
std::unique_ptr<Family> make_hunyuanmoe();
std::unique_ptr<Family> make_lfm2moe();
std::unique_ptr<Family> make_llama();
std::unique_ptr<Family> make_llama4();
std::unique_ptr<Family> make_minimaxm2();
std::unique_ptr<Family> make_olmoe();
std::unique_ptr<Family> make_phimoe();
std::unique_ptr<Family> make_qwen2moe();
std::unique_ptr<Family> make_qwen35moe();
std::unique_ptr<Family> make_qwen3moe();
std::unique_ptr<Family> make_qwen3next();

}  // namespace runahead
