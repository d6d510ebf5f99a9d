// Files that a model's loader must refuse, each with a sentence that names the file and the field;
// and types and shapes at the edge of what kernels take, which must run.

#include <limits>

#include "exec_run.h"

namespace runahead::test {
namespace {

using Change = std::function<void(GgufBuilder&)>;

void set_number(GgufBuilder& b, const std::string& key, uint32_t value) {
  GgufBuilder::Kv& kv = b.kv("qwen3moe." + key);
  kv.type = kGgufU32;
  kv.payload = raw(value);
}
void set_float(GgufBuilder& b, const std::string& key, float value) {
  b.kv("qwen3moe." + key).payload = raw(value);
}
void drop_key(GgufBuilder& b, const std::string& key) {
  std::erase_if(b.kvs, [&](const auto& kv) { return kv.key == key; });
}
void drop_tensor(GgufBuilder& b, const std::string& name) {
  std::erase_if(b.tensors, [&](const auto& tensor) { return tensor.name == name; });
}
// The same number of elements, or other bytes of zeros.
void retype(GgufBuilder& b, const std::string& name, ggml_type type) {
  GgufBuilder::Tensor& tensor = b.tensor(name);
  tensor.type = static_cast<uint32_t>(type);
  tensor.bytes.assign(GgufBuilder::tensor_bytes(type, {tensor.ne.begin(), tensor.ne.end()}), '\0');
}
void reshape(GgufBuilder& b, const std::string& name, const std::vector<uint64_t>& ne) {
  b.tensor(name).ne = ne;
  retype(b, name, static_cast<ggml_type>(b.tensor(name).type));
}

RequestOptions short_request() {
  RequestOptions options;
  options.prompt = {1, 2, 3};
  options.max_tokens = 4;
  options.ignore_end = true;
  return options;
}

// What opening the changed model says; "" when it opens, computes and generates.
std::string opened(const ExecModel& model, const Change& change) {
  GgufBuilder b = model.builder();
  change(b);
  ExecFiles files(b);
  return error_of([&] {
    EngineOptions options = small_options();
    options.model.store = StoreKind::kGguf;
    options.model.context = 64;
    Engine engine(files.gguf_path(), options, {});
    Listener listener(engine);
    for (int i = 0; i < 3; ++i) {
      engine.submit(short_request());
    }
    const Ended ended = listener.end_of(2);
    REQUIRE(ended.reason == "length");
  });
}

void refuses(const Change& change, const std::string& code, const std::string& field,
             const std::string& what) {
  const std::string text = opened(ExecModel{}, change);
  CAPTURE(text);
  CHECK(text.rfind(code + ": ", 0) == 0);
  CHECK(has(text, "model.gguf"));
  CHECK(has(text, field));
  CHECK(has(text, what));
}

}  // namespace

TEST_CASE("exec: the unchanged model opens") {
  CHECK(opened(ExecModel{}, [](GgufBuilder&) {}) == "");
  CHECK(opened(ExecModel::quantised(), [](GgufBuilder&) {}) == "");
}

TEST_CASE("exec: sizes out of range are refused by name") {
  const auto number = [](const char* key, uint32_t value) {
    return [=](GgufBuilder& b) { set_number(b, key, value); };
  };
  for (const char* key : {"block_count", "embedding_length", "attention.head_count",
                          "attention.head_count_kv", "attention.key_length", "expert_count",
                          "expert_used_count", "expert_feed_forward_length", "context_length"}) {
    CAPTURE(key);
    refuses(number(key, 0), "bad_file", std::string("qwen3moe.") + key, "0");
    refuses(number(key, UINT32_MAX), "bad_file", std::string("qwen3moe.") + key, "4294967295");
  }
  refuses(number("expert_used_count", 9), "bad_file", "expert_used_count", "9");
  refuses(number("attention.head_count_kv", 3), "bad_file", "head_count_kv", "3");
  refuses(number("attention.key_length", 15), "bad_file", "key_length", "odd");
  refuses(number("attention.value_length", 8), "unsupported", "value_length", "key_length");
  refuses([](GgufBuilder& b) { drop_key(b, "qwen3moe.attention.head_count"); }, "bad_file",
          "attention.head_count", "missing");
  refuses(
      [](GgufBuilder& b) {
        drop_key(b, "qwen3moe.attention.key_length");
        set_number(b, "attention.head_count", 128);
      },
      "bad_file", "embedding_length", "128");
  refuses([](GgufBuilder& b) { drop_key(b, "qwen3moe.expert_feed_forward_length"); }, "bad_file",
          "expert_feed_forward_length", "missing");
  // More layers, experts or heads than the file has tensors for.
  refuses(number("block_count", 4), "unsupported", "blk.3.", "missing");
  refuses(number("expert_count", 16), "bad_file", "blk.0.ffn_gate_exps.weight", "[64, 64, 8");
  refuses(number("embedding_length", 32), "bad_file", "weight", "shape");
  refuses(
      [](GgufBuilder& b) {
        set_number(b, "attention.key_length", 32);
        set_number(b, "attention.value_length", 32);
      },
      "bad_file", "blk.0.attn_q.weight", "expected [64, 128]");
  refuses(number("expert_feed_forward_length", 32), "bad_file", "blk.0.ffn_gate_exps.weight",
          "expected [64, 32, 8]");
  CHECK(has(opened(ExecModel{}, number("context_length", 16)), "invalid: context 64"));
}

TEST_CASE("exec: numbers that are none are refused by name") {
  for (const float value : {std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::infinity(), -1.0F, 2.0F}) {
    refuses([&](GgufBuilder& b) { set_float(b, "attention.layer_norm_rms_epsilon", value); },
            "bad_file", "layer_norm_rms_epsilon", "");
  }
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), 0.0F, -10000.0F}) {
    refuses([&](GgufBuilder& b) { set_float(b, "rope.freq_base", value); }, "bad_file",
            "rope.freq_base", "");
  }
}

TEST_CASE("exec: tensors that are missing or have another shape are refused by name") {
  const std::vector<GgufBuilder::Tensor> tensors = ExecModel{}.builder().tensors;
  for (const GgufBuilder::Tensor& tensor : tensors) {
    if (tensor.name == "output.weight") {
      continue;  // the embedding takes its place
    }
    refuses([&](GgufBuilder& b) { drop_tensor(b, tensor.name); }, "bad_file", tensor.name,
            "is missing");
  }
  for (const GgufBuilder::Tensor& tensor : tensors) {
    std::vector<uint64_t> longer = tensor.ne;
    longer.back() += 1;
    const bool is_embedding = tensor.name == "token_embd.weight";  // it says how many tokens
    refuses([&](GgufBuilder& b) { reshape(b, tensor.name, longer); }, "bad_file",
            is_embedding ? "output.weight" : tensor.name, "shape");
    std::vector<uint64_t> wider = tensor.ne;
    wider.front() += 32;
    refuses([&](GgufBuilder& b) { reshape(b, tensor.name, wider); }, "bad_file", tensor.name,
            "shape");
  }
  // Fewer rows of the embedding than tokens in the vocabulary.
  refuses(
      [](GgufBuilder& b) {
        reshape(b, "token_embd.weight", {64, 100});
        reshape(b, "output.weight", {64, 100});
      },
      "bad_file", "token_embd.weight", "272");
  // A layer without experts, and no experts at all.
  refuses(
      [](GgufBuilder& b) {
        for (const char* role : {"gate", "up", "down"}) {
          drop_tensor(b, std::string("blk.1.ffn_") + role + "_exps.weight");
        }
      },
      "unsupported", "blk.1.ffn_gate_exps.weight", "missing");
  refuses([](GgufBuilder& b) { b.kv("general.architecture").payload = raw_string("llama"); },
          "unsupported", "'llama'", "dense");
  refuses([](GgufBuilder& b) { drop_key(b, "general.architecture"); }, "bad_file",
          "general.architecture", "missing");
}

TEST_CASE("exec: every type of weights computes or is refused by name, wherever it stands") {
  ExecModel model;
  model.n_layer = 1;
  model.n_embd = model.n_ff = 256;
  model.head_dim = 64;
  model.n_expert = 2;
  const std::vector<std::string> names = {"token_embd.weight",         "output.weight",
                                          "blk.0.attn_q.weight",       "blk.0.attn_output.weight",
                                          "blk.0.ffn_gate_inp.weight", "blk.0.ffn_gate_exps.weight",
                                          "blk.0.ffn_down_exps.weight"};
  int n_computed = 0;
  for (int t = 0; t < GGML_TYPE_COUNT; ++t) {
    const auto type = static_cast<ggml_type>(t);
    if (ggml_blck_size(type) <= 0 || ggml_type_size(type) == 0) {
      continue;  // a number without a type any more
    }
    CAPTURE(ggml_type_name(type));
    if (is_weight_type(type)) {
      ++n_computed;
      CHECK(opened(model, [&](GgufBuilder& b) {
              for (const std::string& name : names) {
                retype(b, name, type);
              }
            }) == "");
    } else {
      for (const std::string& name : names) {
        const std::string text = opened(model, [&](GgufBuilder& b) { retype(b, name, type); });
        CAPTURE(text);
        CHECK((has(text, "unsupported: ") && has(text, name) && has(text, ggml_type_name(type))));
      }
    }
    const std::string norm =
        opened(model, [&](GgufBuilder& b) { retype(b, "blk.0.ffn_norm.weight", type); });
    CHECK((norm == "") == (type == GGML_TYPE_F32));
  }
  CHECK(n_computed > 20);
}

TEST_CASE("exec: shapes at the edge run") {
  const auto runs = [](const std::function<void(ExecModel&)>& change) {
    ExecModel model;
    change(model);
    return opened(model, [](GgufBuilder&) {});
  };
  CHECK(runs([](ExecModel& m) { m.n_expert = m.n_used = 1; }) == "");
  CHECK(runs([](ExecModel& m) { m.n_used = 8; }) == "");
  CHECK(runs([](ExecModel& m) { m.n_expert = 512, m.n_used = 512, m.n_ff = 8, m.n_layer = 1; }) ==
        "");
  CHECK(runs([](ExecModel& m) { m.head_dim = 2; }) == "");
  CHECK(runs([](ExecModel& m) { m.head_dim = 30; }) == "");
  CHECK(runs([](ExecModel& m) { m.head_dim = 1024, m.n_head = 2, m.n_layer = 1; }) == "");
  CHECK(runs([](ExecModel& m) { m.n_head = 64, m.n_head_kv = 1, m.head_dim = 4; }) == "");
  CHECK(runs([](ExecModel& m) { m.n_ff = 1; }) == "");
  CHECK(runs([](ExecModel& m) { m.n_embd = 6, m.n_ff = 3; }) == "");
  CHECK(runs([](ExecModel& m) { m.context = INT32_MAX; }) == "");
  CHECK(runs([](ExecModel& m) { m.with_output = false; }) == "");
}

TEST_CASE("exec: a damaged tokenizer is refused by name") {
  const std::string t = "tokenizer.ggml.";
  refuses([&](GgufBuilder& b) { drop_key(b, t + "tokens"); }, "bad_file", t + "tokens", "missing");
  refuses([&](GgufBuilder& b) { b.kv(t + "tokens") = {t + "tokens", kGgufU32, raw(7), {}}; },
          "bad_file", t + "tokens", "");
  const auto tokens = [&](const std::vector<std::string>& list) {
    return [&, list](GgufBuilder& b) {
      GgufBuilder fresh;
      fresh.add_kv_strings(t + "tokens", list);
      b.kv(t + "tokens") = fresh.kvs.front();
    };
  };
  refuses(tokens({}), "bad_file", t + "tokens", "");
  refuses(tokens({"a", "b"}), "bad_file", t + "token_type", "2 tokens");
  std::vector<std::string> twice = byte_tokens();
  twice[20] = twice[7];
  refuses(tokens(twice), "bad_file", t + "tokens", "token 20 twice");
  std::vector<std::string> empty = byte_tokens();
  empty[7] = "[EMPTY_20]";
  empty[20] = "";
  refuses(tokens(empty), "bad_file", t + "tokens", "token 20 twice");
  std::vector<std::string> odd = byte_tokens();
  odd[7] = "\xff\xfe";
  const std::string with_bad_utf8 = opened(ExecModel{}, tokens(odd));
  CHECK((with_bad_utf8 == "" || has(with_bad_utf8, "model.gguf")));

  for (const char* model : {"", "no_vocab", "none", "rwkv", "bert", "t5", "test", "plamo2", "?"}) {
    CAPTURE(model);
    refuses([&](GgufBuilder& b) { b.kv(t + "model").payload = raw_string(model); }, "unsupported",
            t + "model", model);
  }
  refuses([&](GgufBuilder& b) { b.kv(t + "pre").payload = raw_string("odd"); }, "unsupported",
          t + "pre", "odd");
  refuses([&](GgufBuilder& b) { drop_key(b, t + "merges"); }, "bad_file", "tokenizer", "");
  refuses([&](GgufBuilder& b) { b.kv(t + "merges") = {t + "merges", kGgufU32, raw(7), {}}; },
          "bad_file", "tokenizer", "");
  const auto types = [&](auto value) {
    return [&, value](GgufBuilder& b) {
      GgufBuilder fresh;
      fresh.add_kv_array(t + "token_type",
                         std::vector<decltype(value)>(static_cast<size_t>(kExecVocab), value));
      b.kv(t + "token_type") = fresh.kvs.front();
    };
  };
  refuses(types(uint8_t{1}), "bad_file", "tokenizer", "");
  refuses(types(1.0F), "bad_file", t + "token_type", "");
  CHECK(opened(ExecModel{}, types(int32_t{77})) == "");
  CHECK(opened(ExecModel{}, types(int32_t{6})) != "");  // bytes, which are not named <0x..>
  refuses([&](GgufBuilder& b) { b.add_kv_array<float>(t + "scores", std::vector<float>(5, 1.0F)); },
          "bad_file", t + "scores", "5");
  refuses(
      [&](GgufBuilder& b) {
        b.add_kv_array<uint8_t>(t + "scores",
                                std::vector<uint8_t>(static_cast<size_t>(kExecVocab), 1));
      },
      "bad_file", "tokenizer", "");
  // Ids of special tokens that do not exist fall back; then there may be none to add.
  CHECK(opened(ExecModel{}, [&](GgufBuilder& b) {
          b.kv(t + "bos_token_id").payload = raw<uint32_t>(UINT32_MAX);
          b.kv(t + "eos_token_id").payload = raw<uint32_t>(100000);
        }) == "");
  refuses(
      [&](GgufBuilder& b) {
        tokens({"a", "b", "c"})(b);
        drop_key(b, t + "token_type");
        drop_key(b, t + "bos_token_id");
        b.kv(t + "add_bos_token").payload = raw(true);
      },
      "bad_file", "add_bos_token", "bos_token_id");
}

TEST_CASE("exec: text with a byte that the vocabulary lacks ends in an error") {
  GgufBuilder b = ExecModel{}.builder();
  b.kv("tokenizer.ggml.model").payload = raw_string("llama");  // falls back to tokens of bytes
  ExecFiles files(b);
  const Vocab vocab(GgufFile::open(files.gguf_path()));
  CHECK(has(error_of([&] { (void)vocab.tokenize("a\x01z", true, true); }),
            "invalid: the text cannot be tokenized"));
}

TEST_CASE("exec: a long run of one character does not exhaust the stack") {
  for (const char* pre : {"gpt-4o", "deepseek-v3", "qwen2"}) {
    GgufBuilder b = ExecModel{}.builder();
    b.kv("tokenizer.ggml.pre").payload = raw_string(pre);
    ExecFiles files(b);
    const Vocab vocab(GgufFile::open(files.gguf_path()));
    for (const char c : {'a', '=', ' '}) {
      CAPTURE(pre);
      CAPTURE(c);
      CHECK(vocab.tokenize(std::string(100'000, c), false, true).size() == 100'000);
    }
    CHECK(has(error_of([&] { (void)vocab.tokenize(std::string(20 << 20, 'a'), true, true); }),
              "invalid: a text of 20971520 bytes is too long"));
  }
}

TEST_CASE("exec: weights that are no numbers end the request, not the engine") {
  for (const float temperature : {0.0F, 1.0F}) {
    for (const char* name : {"token_embd.weight", "blk.0.ffn_gate_inp.weight",
                             "blk.1.ffn_down_exps.weight", "output.weight"}) {
      CAPTURE(name);
      GgufBuilder b = ExecModel{}.builder();
      GgufBuilder::Tensor& tensor = b.tensor(name);
      for (size_t i = 0; i + 4 <= tensor.bytes.size(); i += 4) {
        tensor.bytes.replace(i, 4, raw(std::numeric_limits<float>::quiet_NaN()));
      }
      ExecFiles files(b);
      Engine engine(files.gguf_path(), small_options(), {});
      Listener listener(engine);
      for (int i = 0; i < 2; ++i) {
        RequestOptions options = short_request();
        options.sampler.temperature = temperature;
        const Ended ended = run_one(engine, listener, options);
        CHECK(ended.reason == "error");
        CHECK(has(ended.detail, "not a finite number"));
      }
    }
  }
}

TEST_CASE("exec: opening can be cancelled at every report, and leaves nothing") {
  ExecFiles files{ExecModel{}};
  int n_reports = 0;
  {
    const Engine engine(files.gguf_path(), small_options(),
                        [&](const char*, uint64_t, uint64_t) { return ++n_reports > 0; });
  }
  REQUIRE(n_reports > 10);
  for (int stop_at = 1; stop_at <= n_reports; stop_at += 7) {
    int n = 0;
    CHECK(has(error_of([&] {
                const Engine engine(files.gguf_path(), small_options(),
                                    [&](const char*, uint64_t, uint64_t) { return ++n < stop_at; });
              }),
              "cancelled: "));
  }
}

TEST_CASE("exec: options out of range are refused by name") {
  ExecFiles files{ExecModel{}};
  const auto open = [&](const std::function<void(EngineOptions&)>& change) {
    EngineOptions options = small_options();
    change(options);
    return error_of([&] { const Engine engine(files.gguf_path(), options, {}); });
  };
  CHECK(has(open([](auto& o) { o.model.max_requests = 0; }), "invalid: max_requests 0"));
  CHECK(has(open([](auto& o) { o.model.max_requests = 65; }), "invalid: max_requests 65"));
  CHECK(has(open([](auto& o) { o.model.prefill_chunk = 0; }), "invalid: prefill_chunk 0"));
  CHECK(has(open([](auto& o) { o.model.n_threads = -1; }), "invalid: n_threads -1"));
  CHECK(has(open([](auto& o) { o.model.context = 2049; }), "invalid: context 2049"));
  CHECK(has(open([](auto& o) { o.fetcher.n_readers = 0; }), "invalid: n_readers 0"));
  CHECK(has(open([](auto& o) { o.policy.eviction = "x"; }), "invalid: unknown eviction \"x\""));
  CHECK(has(open([](auto& o) { o.model.store = StoreKind::kPack; }), "io: "));
}

}  // namespace runahead::test
