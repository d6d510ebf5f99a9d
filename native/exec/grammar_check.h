// exec/grammar_check.h: what a grammar (GBNF) must be like before libllama may read it, whose
// parser and matcher recurse, unfold repetitions and follow rules without bounds of their own: a
// slip of the pen would take all memory, never end, or end the process.

#pragma once

#include <string>

namespace runahead {

// Throws Error(kInvalid), which says where, when the grammar cannot be parsed, a rule may begin
// with itself, or what it unfolds to is too much.
void check_grammar(const std::string& text);

}  // namespace runahead
