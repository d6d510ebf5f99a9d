#include "exec/grammar_reader.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace runahead {
namespace {

constexpr int32_t kMaxDepth = 200;  // of parentheses
constexpr int64_t kMaxRepetitions = 2000;
constexpr size_t kMaxNameBytes = 256;  // libllama copies it for every rule that it generates
constexpr int64_t kMaxElements = 1'000'000;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_of_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || is_digit(c);
}

// Of the character that begins with `first`; whether the other bytes fit is not looked at.
size_t n_bytes(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
}

}  // namespace

GrammarReader::GrammarReader(std::string_view text) : text_(text.substr(0, text.find('\0'))) {}

std::vector<GrammarRule> GrammarReader::read() {
  space(true);
  while (peek() != '\0') {
    rule();
  }
  if (!numbers_.contains("root")) {
    fail("no rule is named 'root'");
  }
  for (const GrammarRule& rule : rules_) {
    if (!rule.is_defined) {
      fail("rule '" + std::string(rule.name) + "' is missing");
    }
  }
  return std::move(rules_);
}

void GrammarReader::rule() {
  const int32_t defined = numbered(name());
  space(false);
  for (const char c : {':', ':', '='}) {
    expect(c);
  }
  space(true);
  alternatives(defined, 0);
  if (peek() != '\0' && peek() != '\r' && peek() != '\n') {
    fail("the rule should end here");
  }
  space(true);
}

void GrammarReader::alternatives(int32_t rule, int32_t depth) {
  if (depth > kMaxDepth) {
    fail("parentheses are nested more than " + std::to_string(kMaxDepth) + " deep");
  }
  GrammarRule read{rules_[static_cast<size_t>(rule)].name, true, 0, {}};
  for (;;) {
    Sequence one = sequence(rule, depth);
    read.n_elements += one.n_elements + 1;
    read.alternatives.push_back(std::move(one.symbols));
    if (peek() != '|') {
      break;
    }
    ++at_;
    space(true);
  }
  rules_[static_cast<size_t>(rule)] = std::move(read);
}

GrammarReader::Sequence GrammarReader::sequence(int32_t rule, int32_t depth) {
  Sequence whole;
  for (;;) {
    const char first = peek();
    if (first == '\0' ||
        (!is_of_name(first) && std::string_view("\"[<!(.").find(first) == std::string_view::npos)) {
      return whole;
    }
    Sequence last = item(rule, depth);
    space(depth > 0);
    int64_t min = 1;
    int64_t max = 1;
    while (repetition(depth, min, max)) {
      if (last.symbols.empty()) {
        fail("a repetition has nothing before it");
      }
      last = repeated(last, min, max, rule);
    }
    count(last.n_elements);
    whole.symbols.insert(whole.symbols.end(), last.symbols.begin(), last.symbols.end());
    whole.n_elements += last.n_elements;
  }
}

GrammarReader::Sequence GrammarReader::item(int32_t rule, int32_t depth) {
  const char first = peek();
  if (is_of_name(first)) {
    return {{numbered(name())}, 1};
  }
  if (first == '"' || first == '[') {
    return quoted(first == '"' ? '"' : ']');
  }
  if (first == '<' || first == '!') {
    return token();
  }
  ++at_;
  if (first == '.') {
    return {{kTerminal}, 1};
  }
  space(true);
  const int32_t group = generated(rule);
  alternatives(group, depth + 1);
  expect(')');
  return {{group}, 1};
}

GrammarReader::Sequence GrammarReader::quoted(char end) {
  ++at_;
  at_ += end == ']' && peek() == '^' ? 1 : 0;
  const size_t begin = at_;
  while (peek() != end) {
    if (peek() == '\0') {
      fail(std::string("'") + end + "' is missing");
    }
    at_ += peek() == '\\' ? 2 : n_bytes(peek());
  }
  const auto length = static_cast<int64_t>(at_ - begin);
  ++at_;
  return length > 0 ? Sequence{{kTerminal}, length} : Sequence{};
}

GrammarReader::Sequence GrammarReader::token() {
  at_ += peek() == '!' ? 1 : 0;
  expect('<');
  while (peek() != '\0' && peek() != '>') {
    ++at_;
  }
  expect('>');
  return {{kTerminal}, 1};
}

bool GrammarReader::repetition(int32_t depth, int64_t& min, int64_t& max) {
  const char sign = peek();
  if (sign != '*' && sign != '+' && sign != '?' && sign != '{') {
    return false;
  }
  ++at_;
  space(depth > 0);
  min = sign == '+' ? 1 : 0;
  max = sign == '?' ? 1 : -1;
  if (sign != '{') {
    return true;
  }
  max = min = number();
  space(depth > 0);
  if (peek() == ',') {
    ++at_;
    space(depth > 0);
    max = is_digit(peek()) ? number() : -1;
    space(depth > 0);
  }
  expect('}');
  space(depth > 0);
  if (min > kMaxRepetitions) {
    fail("more than " + std::to_string(kMaxRepetitions) + " repetitions are asked for");
  }
  if (max >= 0 && max < min) {
    fail("a repetition's most is less than its least");
  }
  max = max > kMaxRepetitions ? -1 : max;
  return true;
}

GrammarReader::Sequence GrammarReader::repeated(const Sequence& item, int64_t min, int64_t max,
                                                int32_t rule) {
  const int64_t n_optional = max < 0 ? 1 : max - min;
  count(item.n_elements * (min + n_optional) + 3 * n_optional);
  Sequence made;
  for (int64_t i = 0; i < min; ++i) {
    made.symbols.insert(made.symbols.end(), item.symbols.begin(), item.symbols.end());
    made.n_elements += item.n_elements;
  }
  int32_t last = kTerminal;
  for (int64_t i = 0; i < n_optional; ++i) {
    const int32_t more = generated(rule);
    GrammarRule& optional = rules_[static_cast<size_t>(more)];
    optional.is_defined = true;
    optional.n_elements = item.n_elements + 3;
    optional.alternatives = {item.symbols, {}};
    if (max < 0 || i > 0) {
      optional.alternatives[0].push_back(max < 0 ? more : last);
    }
    last = more;
  }
  if (n_optional > 0) {
    made.symbols.push_back(last);
    ++made.n_elements;
  }
  return made;
}

// A comment counts as space.
void GrammarReader::space(bool newline_too) {
  for (bool in_comment = false; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    const bool is_newline = c == '\r' || c == '\n';
    in_comment = (in_comment || c == '#') && !is_newline;
    if (is_newline ? !newline_too : !in_comment && c != ' ' && c != '\t') {
      return;
    }
  }
}

void GrammarReader::expect(char wanted) {
  if (peek() != wanted) {
    fail(std::string("'") + wanted + "' is missing");
  }
  ++at_;
}

int64_t GrammarReader::number() {
  if (!is_digit(peek())) {
    fail("a number is missing");
  }
  int64_t value = 0;
  for (; is_digit(peek()); ++at_) {
    value = std::min<int64_t>(value * 10 + (peek() - '0'), INT32_MAX);
  }
  return value;
}

std::string_view GrammarReader::name() {
  const size_t begin = at_;
  while (is_of_name(peek())) {
    ++at_;
  }
  if (at_ == begin || at_ - begin > kMaxNameBytes) {
    fail(at_ == begin ? "the name of a rule is missing" : "the name of a rule is too long");
  }
  return text_.substr(begin, at_ - begin);
}

int32_t GrammarReader::numbered(std::string_view name) {
  const auto [found, is_new] = numbers_.emplace(name, static_cast<int32_t>(rules_.size()));
  if (is_new) {
    rules_.push_back({name, false, 0, {}});
  }
  return found->second;
}

int32_t GrammarReader::generated(int32_t inside) {
  rules_.push_back({rules_[static_cast<size_t>(inside)].name, false, 0, {}});
  return static_cast<int32_t>(rules_.size()) - 1;
}

void GrammarReader::count(int64_t n_elements) {
  n_elements_ += n_elements;
  if (n_elements_ > kMaxElements) {
    fail("its repetitions unfold to too much");
  }
}

void GrammarReader::fail(const std::string& what) const {
  const size_t end = std::min(at_, text_.size());
  const std::string_view before = text_.substr(0, end);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  throw Error(ErrorCode::kInvalid,
              "the grammar cannot be parsed (GBNF with a rule named 'root' is expected): line " +
                  std::to_string(line) + ", column " +
                  std::to_string(end - (before.rfind('\n') + 1) + 1) + ": " + what);
}

}  // namespace runahead
