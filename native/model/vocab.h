// model/vocab.h
//
// Vocab is libllama's tokenizer and vocabulary of a GGUF, loaded without weights. The file must
// have passed GgufFile first: libllama trusts more than we do. Constant after loading; safe from
// several threads.

#pragma once

#include <llama.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/gguf_file.h"

namespace runahead {

// Throws Error when the tokenizer of the file is not one that libllama knows and can be trusted
// with.
void check_tokens(const GgufFile& file);

class Vocab {
 public:
  explicit Vocab(const GgufFile& file);

  [[nodiscard]] std::vector<int32_t> tokenize(std::string_view text, bool add_special,
                                              bool parse_special) const;
  // The bytes a token stands for; control tokens give "" unless `special`.
  [[nodiscard]] std::string piece(int32_t token, bool special) const;
  [[nodiscard]] bool is_end(int32_t token) const;
  [[nodiscard]] int32_t size() const;
  [[nodiscard]] int32_t bos() const;  // -1: none
  [[nodiscard]] int32_t eos() const;
  [[nodiscard]] bool adds_bos() const;
  [[nodiscard]] const llama_vocab* get() const;

 private:
  std::shared_ptr<llama_model> model_;
};

}  // namespace runahead
