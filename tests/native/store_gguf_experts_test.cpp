#include "store_errors.h"
#include "store_model.h"

namespace runahead::test {

TEST_CASE("layers with the same matrices share a slot class, layers without experts have none") {
  const GgufFolder folder;
  store_model_builder().write(folder / "m.gguf");
  const GgufExperts experts = open_experts(folder / "m.gguf");

  CHECK(experts.layout.class_of_layer == std::vector<int32_t>{-1, 0, 1, 0});
  REQUIRE(experts.layout.classes.size() == 2);
  const SlotClass& first = experts.layout.classes[0];
  REQUIRE(first.matrices.size() == 3);
  CHECK(first.matrices[0].role == "gate");
  CHECK(first.matrices[0].bytes == 5760);
  CHECK(first.matrices[1].offset == 8192);
  CHECK(first.matrices[2].type == GGML_TYPE_Q8_0);
  CHECK(first.matrices[2].offset == 16384);
  CHECK(first.record_bytes == 20480);
  CHECK(experts.layout.n_experts_in(0) == 10);
  CHECK(experts.layout.total_bytes() ==
        10 * first.record_bytes + 5 * experts.layout.classes[1].record_bytes);
  CHECK(experts.layout.weights == WeightLayout::kPlain);
}

TEST_CASE("expert tensors that do not fit together are refused by name") {
  struct Broken {
    const char* says;
    void (*breaks)(GgufBuilder&);
  };
  const std::vector<Broken> table = {
      {"'blk.2.ffn_up_exps.weight' is missing, although layer 2",
       [](GgufBuilder& b) { b.tensor("blk.2.ffn_up_exps.weight").name = "blk.2.other.weight"; }},
      {"'blk.1.ffn_gate_exps.weight' has shape [256, 40, 4, 1], expected [n_in, n_out, 5, 1]",
       [](GgufBuilder& b) { b.tensor("blk.1.ffn_gate_exps.weight").ne = {256, 40, 4}; }},
      {"'blk.1.ffn_gate_exps.weight' has shape [256, 40, 1, 1]",
       [](GgufBuilder& b) { b.tensor("blk.1.ffn_gate_exps.weight").ne = {256, 40}; }},
      {"'blk.3.ffn_down_exps.weight' has shape [64, 3, 5, 2]",
       [](GgufBuilder& b) { b.tensor("blk.3.ffn_down_exps.weight").ne = {64, 3, 5, 2}; }},
      {"'blk.2.ffn_down_exps.weight' has type i32, which is not a type of weights",
       [](GgufBuilder& b) { b.tensor("blk.2.ffn_down_exps.weight").type = GGML_TYPE_I32; }},
  };
  for (const Broken& broken : table) {
    const GgufFolder folder;
    GgufBuilder builder = store_model_builder();
    broken.breaks(builder);
    builder.write(folder / "m.gguf");
    const std::string error = error_of([&] { return open_experts(folder / "m.gguf"); });
    CAPTURE(error);
    CHECK(has(error, broken.says));
    CHECK(has(error, (folder / "m.gguf").string()));
  }
}

}  // namespace runahead::test
