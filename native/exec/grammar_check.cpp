#include "exec/grammar_check.h"

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "exec/grammar_reader.h"

namespace runahead {
namespace {

constexpr size_t kMaxBytes = 64 << 10;
constexpr int32_t kMaxRuleDepth = 3000;  // rules that begin with rules: libllama recurses for each
// Elements that libllama's search for left recursion looks at. It does not remember rules that it
// has been through, so that 26 rules of four alternatives each would keep it busy for ever.
constexpr int64_t kMaxSearched = 10'000'000;
// Places in the grammar where the text may be at once. libllama compares each with each.
constexpr int64_t kMaxPlaces = 10'000;

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorCode::kInvalid, "the grammar cannot be used: " + what);
}

// Which rules may stand for nothing.
std::vector<bool> rules_that_vanish(const std::vector<GrammarRule>& rules) {
  struct Alternative {
    size_t rule;
    size_t n_left;  // symbols that do not vanish, as far as is known
  };
  std::vector<Alternative> alternatives;
  std::vector<std::vector<size_t>> with(rules.size());  // alternatives that have the rule in them
  std::vector<bool> vanishes(rules.size());
  std::vector<size_t> found;
  const auto mark = [&](size_t rule) {
    if (!vanishes[rule]) {
      vanishes[rule] = true;
      found.push_back(rule);
    }
  };
  for (size_t rule = 0; rule < rules.size(); ++rule) {
    for (const std::vector<int32_t>& symbols : rules[rule].alternatives) {
      for (const int32_t symbol : symbols) {
        if (symbol != kTerminal) {
          with[static_cast<size_t>(symbol)].push_back(alternatives.size());
        }
      }
      alternatives.push_back({rule, symbols.size()});
      if (symbols.empty()) {
        mark(rule);
      }
    }
  }
  while (!found.empty()) {
    const size_t rule = found.back();
    found.pop_back();
    for (const size_t i : with[rule]) {
      if (--alternatives[i].n_left == 0) {
        mark(alternatives[i].rule);
      }
    }
  }
  return vanishes;
}

// Follows what rules begin with.
class Beginnings {
 public:
  explicit Beginnings(const std::vector<GrammarRule>& rules)
      : rules_(rules),
        vanishes_(rules_that_vanish(rules)),
        states_(rules.size()),
        n_searched_(rules.size()),
        n_places_(rules.size()) {}

  void check() {
    int64_t n_searched = 0;
    for (size_t rule = 0; rule < rules_.size(); ++rule) {
      visit(rule, 0);
      n_searched += n_searched_[rule];
      limit(n_searched, kMaxSearched, rule);
    }
    for (size_t rule = 0; rule < rules_.size(); ++rule) {
      for (const std::vector<int32_t>& symbols : rules_[rule].alternatives) {
        check_within(rule, symbols);
      }
    }
  }

 private:
  enum class State : uint8_t { kNew, kBegun, kDone };

  void visit(size_t rule, int32_t depth) {
    if (states_[rule] == State::kDone) {
      return;
    }
    if (states_[rule] == State::kBegun) {
      refuse("rule '" + std::string(rules_[rule].name) + "' may begin with itself");
    }
    if (depth > kMaxRuleDepth) {
      refuse("more than " + std::to_string(kMaxRuleDepth) + " rules begin with each other");
    }
    states_[rule] = State::kBegun;
    int64_t n_searched = rules_[rule].n_elements;
    int64_t n_places = 0;
    for (const std::vector<int32_t>& symbols : rules_[rule].alternatives) {
      bool is_searched = true;  // libllama looks behind rules with an empty alternative only
      for (size_t i = 0; i < symbols.size(); ++i) {
        ++n_places;
        if (symbols[i] == kTerminal) {
          break;
        }
        const auto next = static_cast<size_t>(symbols[i]);
        if (next == rule && i > 0 && i + 1 == symbols.size()) {
          break;  // the end of a repetition: the place is the one that it came from
        }
        visit(next, depth + 1);
        n_places += n_places_[next];
        n_searched += is_searched ? n_searched_[next] : 0;
        is_searched = is_searched && has_empty_alternative(next);
        limit(n_searched, kMaxSearched, rule);
        limit(n_places, kMaxPlaces, rule);
        if (!vanishes_[next]) {
          break;
        }
      }
    }
    n_searched_[rule] = n_searched;
    n_places_[rule] = n_places;
    states_[rule] = State::kDone;
  }

  // Where a text may be once it has come to any symbol of an alternative.
  void check_within(size_t rule, const std::vector<int32_t>& symbols) {
    int64_t n_places = 0;
    for (size_t i = symbols.size(); i-- > 0;) {
      if (symbols[i] == kTerminal) {
        n_places = 1;
        continue;
      }
      const auto next = static_cast<size_t>(symbols[i]);
      n_places = (vanishes_[next] ? n_places : 0) + 1 + n_places_[next];
      limit(n_places, kMaxPlaces, rule);
    }
  }

  [[nodiscard]] bool has_empty_alternative(size_t rule) const {
    for (const std::vector<int32_t>& symbols : rules_[rule].alternatives) {
      if (symbols.empty()) {
        return true;
      }
    }
    return false;
  }

  void limit(int64_t n, int64_t most, size_t rule) const {
    if (n > most) {
      refuse("rule '" + std::string(rules_[rule].name) + "' may begin in too many ways");
    }
  }

  const std::vector<GrammarRule>& rules_;
  const std::vector<bool> vanishes_;
  std::vector<State> states_;
  std::vector<int64_t> n_searched_;
  std::vector<int64_t> n_places_;
};

}  // namespace

void check_grammar(const std::string& text) {
  if (text.size() > kMaxBytes) {
    throw Error(ErrorCode::kInvalid, "the grammar has " + std::to_string(text.size()) + " bytes; " +
                                         std::to_string(kMaxBytes) + " are possible");
  }
  const std::vector<GrammarRule> rules = GrammarReader(text).read();
  Beginnings(rules).check();
}

}  // namespace runahead
