// exec/grammar_reader.h
//
// GrammarReader reads GBNF as libllama does (llama.cpp, src/llama-grammar.cpp), with bounds, and
// keeps what can be asked without a text: which rules stand where. A repetition becomes rules of
// its own, as there: S{2,4} is S S A, where A ::= S B | and B ::= S | .

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace runahead {

constexpr int32_t kTerminal = -1;  // characters or a token

struct GrammarRule {
  std::string_view name;  // of the rule that it is in the text
  bool is_defined = false;
  int64_t n_elements = 0;                          // in libllama's form
  std::vector<std::vector<int32_t>> alternatives;  // of kTerminal and numbers of rules
};

class GrammarReader {
 public:
  // The text must outlive the rules; it ends where a C string does.
  explicit GrammarReader(std::string_view text);

  // All rules, `root` among them. Throws Error(kInvalid).
  [[nodiscard]] std::vector<GrammarRule> read();

 private:
  // Symbols of an alternative, and how many elements libllama has for them.
  struct Sequence {
    std::vector<int32_t> symbols;
    int64_t n_elements = 0;
  };

  void rule();
  void alternatives(int32_t rule, int32_t depth);
  [[nodiscard]] Sequence sequence(int32_t rule, int32_t depth);
  [[nodiscard]] Sequence item(int32_t rule, int32_t depth);
  [[nodiscard]] Sequence quoted(char end);
  [[nodiscard]] Sequence token();
  // Whether a repetition follows. 2000 are the most; `max` is -1 for any number.
  [[nodiscard]] bool repetition(int32_t depth, int64_t& min, int64_t& max);
  [[nodiscard]] Sequence repeated(const Sequence& item, int64_t min, int64_t max, int32_t rule);

  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void space(bool newline_too);
  void expect(char wanted);
  [[nodiscard]] int64_t number();
  [[nodiscard]] std::string_view name();
  [[nodiscard]] int32_t numbered(std::string_view name);
  [[nodiscard]] int32_t generated(int32_t inside);
  void count(int64_t n_elements);
  [[noreturn]] void fail(const std::string& what) const;

  std::string_view text_;
  size_t at_ = 0;
  int64_t n_elements_ = 0;
  std::vector<GrammarRule> rules_;
  std::unordered_map<std::string_view, int32_t> numbers_;
};

}  // namespace runahead
