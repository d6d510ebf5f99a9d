#include "model/vocab.h"

#include <mutex>

#include "base/error.h"

namespace runahead {
namespace {

void initialise_llama() {
  static std::once_flag once;
  std::call_once(once, [] {
    llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
    llama_backend_init();
  });
}

}  // namespace

Vocab::Vocab(const GgufFile& file) {
  const std::string where = file.path().string() + ": ";
  // libllama reads these arrays side by side and trusts their types and lengths.
  const uint64_t n_tokens = file.array_length("tokenizer.ggml.tokens").value_or(0);
  if (n_tokens == 0) {
    throw Error(ErrorCode::kBadFile, where + "tokenizer.ggml.tokens is missing");
  }
  for (const char* key : {"tokenizer.ggml.scores", "tokenizer.ggml.token_type"}) {
    const auto length = file.array_length(key);
    if (length && *length != n_tokens) {
      throw Error(ErrorCode::kBadFile, where + key + " has " + std::to_string(*length) +
                                           " entries for " + std::to_string(n_tokens) + " tokens");
    }
  }
  if (file.has("tokenizer.ggml.token_type")) {
    (void)file.get_ints("tokenizer.ggml.token_type");  // throws unless an array of integers
  }
  initialise_llama();
  llama_model_params params = llama_model_default_params();
  params.vocab_only = true;
  params.n_gpu_layers = 0;
  model_ = std::shared_ptr<llama_model>(llama_model_load_from_file(file.path().c_str(), params),
                                        llama_model_free);
  if (model_ == nullptr) {
    throw Error(ErrorCode::kBadFile,
                where + "libllama cannot load its tokenizer (tokenizer.ggml.model '" +
                    file.get_string("tokenizer.ggml.model").value_or("") + "')");
  }
}

std::vector<int32_t> Vocab::tokenize(std::string_view text, bool add_special,
                                     bool parse_special) const {
  if (text.size() > INT32_MAX / 2) {
    throw Error(ErrorCode::kInvalid,
                "a prompt of " + std::to_string(text.size()) + " bytes is too long");
  }
  std::vector<int32_t> tokens(text.size() + 8);
  const auto run = [&] {
    return llama_tokenize(get(), text.data(), static_cast<int32_t>(text.size()), tokens.data(),
                          static_cast<int32_t>(tokens.size()), add_special, parse_special);
  };
  int32_t n = run();
  if (n < 0) {
    tokens.resize(static_cast<size_t>(-n));
    n = run();
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
