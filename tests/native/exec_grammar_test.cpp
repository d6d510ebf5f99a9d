// Grammars that libllama may read, and those that would take all memory, never end or end the
// process.

#include <chrono>

#include "exec/grammar_check.h"
#include "exec/grammar_reader.h"
#include "exec_run.h"

namespace runahead::test {
namespace {

std::string refusal(const std::string& grammar) {
  return error_of([&] { check_grammar(grammar); });
}

// Rules "a", "b", ... of which each is made of the next, `body` with N for its name.
std::string chain(int32_t n, const std::string& body, const std::string& last) {
  const auto name = [](int32_t i) { return "r" + std::to_string(i); };
  std::string grammar = "root ::= r0\n";
  for (int32_t i = 0; i < n; ++i) {
    std::string rule = body;
    for (size_t at = 0; (at = rule.find('N')) != std::string::npos;) {
      rule.replace(at, 1, name(i + 1));
    }
    grammar += name(i) + " ::= " + rule + "\n";
  }
  return grammar + name(n) + " ::= " + last + "\n";
}

}  // namespace

TEST_CASE("exec: a grammar that cannot be read is refused with the place") {
  CHECK(has(refusal("root ::= \"a\"\nroot2 ::= ("), "line 2, column 12: ')' is missing"));
  CHECK(has(refusal("root ::= \"a"), "line 1, column 12: '\"' is missing"));
  CHECK(has(refusal("root ::= [a"), "']' is missing"));
  CHECK(has(refusal("root ::= a b\na ::= \"a\""), "rule 'b' is missing"));
  CHECK(has(refusal("other ::= \"a\""), "no rule is named 'root'"));
  CHECK(has(refusal("root = \"a\""), "':' is missing"));
  CHECK(has(refusal("root ::= *"), "the rule should end here"));
  CHECK(has(refusal("root ::= \"\"*"), "nothing before it"));
  CHECK(has(refusal("root ::= \"a\"{2001}"), "more than 2000 repetitions"));
  CHECK(has(refusal("root ::= \"a\"{3,1}"), "most is less than its least"));
  CHECK(has(refusal("root ::= \"a\"{1"), "'}' is missing"));
  CHECK(has(refusal("root ::= <x"), "'>' is missing"));
  CHECK(has(refusal(std::string(300, 'a') + " ::= \"a\""), "name of a rule is too long"));
  // A comment ends at a carriage return too.
  for (const std::string before : {"", "# (\r", "# \"\n"}) {
    CHECK(has(refusal("root ::= " + before + std::string(60000, '(')), "parentheses"));
  }
}

TEST_CASE("exec: a rule that may begin with itself is refused, also behind what may be nothing") {
  for (const std::string grammar : {
           "root ::= root",
           "root ::= ws root \"+\" [0-9] | [0-9]\nws ::= \" \"*",
           "root ::= \"a\" sum\nsum ::= (\" \"?)* product\nproduct ::= ws sum \"*\"\nws ::= [ "
           "\\t]*",
           "root ::= [^] root \"a\" | \"b\"",
           "root ::= a b\na ::= \"x\"?\nb ::= a a root \"c\"",
       }) {
    CAPTURE(grammar);
    CHECK(has(refusal(grammar), "may begin with itself"));
  }
}

TEST_CASE("exec: a grammar that unfolds to too much is refused at once") {
  const auto begun = std::chrono::steady_clock::now();
  CHECK(has(refusal(chain(26, "N | N | N | N", "\"x\"")), "too many ways"));
  CHECK(has(refusal("root ::= a{2000}\na ::= b{2000}\nb ::= \"x\"?"), "too many ways"));
  CHECK(has(refusal("root ::= \"x\" a{2000}\na ::= b{2000}\nb ::= \"x\"?"), "too many ways"));
  CHECK(has(refusal("root ::= \"" + std::string(60000, 'x') + "\"{2000}"), "unfold to too much"));
  CHECK(has(refusal(chain(3100, "N", "\"x\"")), "rules begin with each other"));
  CHECK(has(refusal(chain(2, "(|N){0,2000}", "\"x\"")), "too many ways"));
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begun;
  CHECK(taken.count() < 20);  // on any machine; each would take hours
}

TEST_CASE("exec: grammars as people write them are read by libllama too") {
  ExecFiles files{ExecModel{}};
  Engine engine(files.gguf_path(), small_options(), {});
  Listener listener(engine);
  for (const std::string grammar : {
           "root ::= object\n"
           "object ::= \"{\" ws (pair (\",\" ws pair)*)? \"}\" ws\n"
           "pair ::= string \":\" ws value\n"
           "value ::= object | array | string | number | (\"true\" | \"false\" | \"null\") ws\n"
           "array ::= \"[\" ws (value (\",\" ws value)*)? \"]\" ws\n"
           "string ::= \"\\\"\" ([^\"\\\\\\x7F\\x00-\\x1F] | \"\\\\\" [\"\\\\bfnrt])* \"\\\"\" ws\n"
           "number ::= \"-\"? (\"0\" | [1-9] [0-9]{0,15}) (\".\" [0-9]+)? ws\n"
           "ws ::= | \" \" | \"\\n\" [ \\t]{0,20}\n",
           "# A list.\r\nroot ::= item+ # of items\r\nitem ::= \"- \" [^\\r\\n\\x0b]{1,200} "
           "\"\\n\"\r\n",
           "root ::= (\"yes\" |\n  \"no\")   # over\n\n\nother-1 ::= .",
           "root ::= ws root | \"x\"\nws ::= \" \"*",
           "root ::= (ws)* \"x\"\nws ::= \" \"*",
           "root ::= [a-z]{0,2000} \"\xe2\x82\xac\" <[7]> !<[8]>",
           "root ::= \"\" \"a\" | []",
           "root ::= [\\]\"(] \"](\\\"\" [a-] [^\\]-] [--]",
       }) {
    CAPTURE(grammar);
    CHECK(refusal(grammar).empty());
    RequestOptions options = request({1, 2}, 3);
    options.sampler.grammar = grammar;
    CHECK(error_of([&] { run_one(engine, listener, options); }).empty());
  }
}

TEST_CASE("exec: repetitions become the rules that libllama makes of them") {
  const std::string text = "root ::= \"ab\"{2,4} (\"c\" | root)*";
  const std::vector<GrammarRule> rules = GrammarReader(text).read();
  REQUIRE(rules.size() == 5);
  using Alternatives = std::vector<std::vector<int32_t>>;
  CHECK(rules[0].alternatives == Alternatives{{kTerminal, kTerminal, 2, 4}});
  CHECK(rules[1].alternatives == Alternatives{{kTerminal}, {}});
  CHECK(rules[2].alternatives == Alternatives{{kTerminal, 1}, {}});
  CHECK(rules[3].alternatives == Alternatives{{kTerminal}, {0}});
  CHECK(rules[4].alternatives == Alternatives{{3, 4}, {}});
  CHECK(rules[0].n_elements == 2 * 2 + 1 + 1 + 1);
}

}  // namespace runahead::test
