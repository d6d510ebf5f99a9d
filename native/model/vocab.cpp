#include "model/vocab.h"

#include <ggml-cpp.h>
#include <gguf.h>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <unordered_set>

#include "base/error.h"
#include "base/wide_stack.h"

namespace runahead {
namespace {

constexpr size_t kMaxTextBytes = 16 << 20;  // several times the longest contexts
// Some tokenizers cut texts with std::regex, which calls itself for every character of a run, such
// as a long line of "=": 300 to 350 bytes each were measured.
constexpr size_t kStackPerByte = 1024;
constexpr size_t kShortTextBytes = 1024;  // for which any thread's stack is wide enough

void initialise_llama() {
  static std::once_flag once;
  std::call_once(once, [] {
    llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
    llama_backend_init();
  });
}

llama_model_params vocabulary_only() {
  llama_model_params params = llama_model_default_params();
  params.vocab_only = true;
  params.n_gpu_layers = 0;
  params.load_mode = LLAMA_LOAD_MODE_NONE;  // mapping files is for weights
  return params;
}

// Whether libllama knows the way in which a tokenizer `model` cuts texts first: it is asked with a
// vocabulary of one token, since loading that of the file may take a second.
bool knows_pre_tokenizer(const std::string& model, const std::string& pre) {
  initialise_llama();
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  const gguf_context_ptr gguf(gguf_init_empty());
  const char* token = "a";
  gguf_set_val_str(gguf.get(), "general.architecture", "llama");
  gguf_set_val_str(gguf.get(), "tokenizer.ggml.model", model.c_str());
  gguf_set_val_str(gguf.get(), "tokenizer.ggml.pre", pre.c_str());
  gguf_set_arr_str(gguf.get(), "tokenizer.ggml.tokens", &token, 1);
  gguf_set_arr_str(gguf.get(), "tokenizer.ggml.merges", nullptr, 0);
  if (file == nullptr || !gguf_write_to_file_ptr(gguf.get(), file.get(), true)) {
    return true;  // no room for it: found out when the model is opened
  }
  std::rewind(file.get());
  const std::unique_ptr<llama_model, void (*)(llama_model*)> loaded(
      llama_model_load_from_file_ptr(file.get(), vocabulary_only()), llama_model_free);
  return loaded != nullptr;
}

}  // namespace

// What libllama takes for granted, or ends the process for.
void check_tokens(const GgufFile& file) {
  const std::string where = file.path().string() + ": ";
  const std::string model = file.get_string("tokenizer.ggml.model").value_or("");
  if (model != "gpt2" && model != "llama" && model != "gemma4") {
    throw Error(ErrorCode::kUnsupported,
                where + "tokenizer.ggml.model '" + model +
                    "' is not supported; 'gpt2', 'llama' and 'gemma4' are");
  }
  const std::string pre = file.get_string("tokenizer.ggml.pre").value_or("");
  if (model != "llama" && !knows_pre_tokenizer(model, pre)) {
    throw Error(ErrorCode::kUnsupported,
                where + "tokenizer.ggml.pre '" + pre +
                    "' is not known to the llama.cpp of this version of Runahead");
  }
  if (model != "llama" && pre != "kimi-k2" && !file.is_array("tokenizer.ggml.merges")) {
    throw Error(ErrorCode::kBadFile, where + "tokenizer.ggml.merges is missing");
  }
  const auto tokens = file.get_strings("tokenizer.ggml.tokens");
  if (!tokens || tokens->empty()) {
    throw Error(ErrorCode::kBadFile, where + "tokenizer.ggml.tokens is missing");
  }
  std::unordered_set<std::string> seen;
  for (size_t i = 0; i < tokens->size(); ++i) {
    const std::string& token = (*tokens)[i];
    if (!seen.insert(token.empty() ? "[EMPTY_" + std::to_string(i) + "]" : token).second) {
      throw Error(ErrorCode::kBadFile,
                  where + "tokenizer.ggml.tokens has token " + std::to_string(i) + " twice");
    }
  }
  for (const char* key : {"tokenizer.ggml.scores", "tokenizer.ggml.token_type"}) {
    const auto length = file.array_length(key);
    if (length && *length != tokens->size()) {
      throw Error(ErrorCode::kBadFile, where + key + " has " + std::to_string(*length) +
                                           " entries for " + std::to_string(tokens->size()) +
                                           " tokens");
    }
  }
  if (file.has("tokenizer.ggml.token_type")) {
    (void)file.get_ints("tokenizer.ggml.token_type");  // throws unless an array of integers
  }
}

Vocab::Vocab(const GgufFile& file) {
  const std::string where = file.path().string() + ": ";
  check_tokens(file);
  initialise_llama();
  model_ = std::shared_ptr<llama_model>(
      llama_model_load_from_file(file.path().c_str(), vocabulary_only()), llama_model_free);
  if (model_ == nullptr) {
    throw Error(ErrorCode::kBadFile,
                where + "libllama cannot load its tokenizer (tokenizer.ggml.model '" +
                    file.get_string("tokenizer.ggml.model").value_or("") +
                    "', tokenizer.ggml.pre '" + file.get_string("tokenizer.ggml.pre").value_or("") +
                    "')");
  }
  const auto check_special = [&](bool adds, int32_t token, const std::string& name) {
    if (adds && token < 0) {
      throw Error(ErrorCode::kBadFile, where + "tokenizer.ggml.add_" + name +
                                           "_token is set, but tokenizer.ggml." + name +
                                           "_token_id names no token");
    }
  };
  check_special(adds_bos(), bos(), "bos");
  check_special(llama_vocab_get_add_eos(get()), eos(), "eos");
}

std::vector<int32_t> Vocab::tokenize(std::string_view text, bool add_special,
                                     bool parse_special) const {
  if (text.size() > kMaxTextBytes) {
    throw Error(ErrorCode::kInvalid, "a text of " + std::to_string(text.size()) +
                                         " bytes is too long: " + std::to_string(kMaxTextBytes) +
                                         " can be tokenized");
  }
  std::vector<int32_t> tokens(text.size() + 8);
  int32_t n = 0;
  const auto run = [&] {
    try {
      n = llama_tokenize(get(), text.data(), static_cast<int32_t>(text.size()), tokens.data(),
                         static_cast<int32_t>(tokens.size()), add_special, parse_special);
    } catch (const std::exception& error) {  // a byte that the vocabulary has no token for
      throw Error(ErrorCode::kInvalid,
                  std::string("the text cannot be tokenized: ") + error.what());
    }
  };
  const auto run_safely = [&] {
    text.size() <= kShortTextBytes ? run() : on_wide_stack(text.size() * kStackPerByte, run);
  };
  run_safely();
  if (n < 0) {
    tokens.resize(static_cast<size_t>(-n));
    run_safely();
  }
  if (n < 0) {
    throw Error(ErrorCode::kInvalid, "the text cannot be tokenized");
  }
  tokens.resize(static_cast<size_t>(n));
  return tokens;
}

std::string Vocab::piece(int32_t token, bool special) const {
  if (token < 0 || token >= size()) {
    throw Error(ErrorCode::kInvalid, "token " + std::to_string(token) +
                                         " is not in the vocabulary of " + std::to_string(size()));
  }
  std::string text(64, '\0');
  int32_t n = llama_token_to_piece(get(), token, text.data(), static_cast<int32_t>(text.size()), 0,
                                   special);
  if (n < 0) {
    text.resize(static_cast<size_t>(-n));
    n = llama_token_to_piece(get(), token, text.data(), static_cast<int32_t>(text.size()), 0,
                             special);
  }
  text.resize(static_cast<size_t>(std::max(n, 0)));
  return text;
}

bool Vocab::is_end(int32_t token) const {
  return llama_vocab_is_eog(get(), token);
}
int32_t Vocab::size() const {
  return llama_vocab_n_tokens(get());
}
int32_t Vocab::bos() const {
  return llama_vocab_bos(get());
}
int32_t Vocab::eos() const {
  return llama_vocab_eos(get());
}
bool Vocab::adds_bos() const {
  return llama_vocab_get_add_bos(get());
}
const llama_vocab* Vocab::get() const {
  return llama_model_get_vocab(model_.get());
}

}  // namespace runahead
