#include <doctest/doctest.h>

#include "gguf/text.h"

namespace runahead {
namespace {

using namespace std::string_literals;

TEST_CASE("printable text stays, all else becomes hexadecimal") {
  CHECK(printable("") == "");
  CHECK(printable("blk.0.attn_q.weight") == "blk.0.attn_q.weight");
  CHECK(printable("ä€😀") == "ä€😀");
  CHECK(printable("a\nb\x1b[31m\x7f") == "a\\x0ab\\x1b[31m\\x7f");
  CHECK(printable("\0"s) == "\\x00");
  CHECK(printable("\xc3") == "\\xc3");           // cut
  CHECK(printable("\xc0\x80") == "\\xc0\\x80");  // overlong
  CHECK(printable("\xe0\x80\x80") == "\\xe0\\x80\\x80");
  CHECK(printable("\xf0\x80\x80\x80") == "\\xf0\\x80\\x80\\x80");
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // surrogate
  CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // beyond Unicode
  CHECK(printable("\xc2\x85") == "\\xc2\\x85");  // a control character of two bytes
  CHECK(printable("\xe2\x28\xa1") == "\\xe2(\\xa1");
}

TEST_CASE("long text is cut between characters") {
  CHECK(printable("abcdef", 6) == "abcdef");
  CHECK(printable("abcdefg", 6) == "abcdef...");
  CHECK(printable("ääää", 3) == "ää...");
}

TEST_CASE("is_printable tells whether printable would change a short text") {
  for (const std::string& text : {"plain"s, "ä€😀"s, ""s}) {
    CHECK(is_printable(text));
  }
  for (const std::string& text : {"\0"s, "a\n"s, "\xff"s, "a\xc3"s, "\xed\xa0\x80"s}) {
    CHECK_FALSE(is_printable(text));
  }
}

}  // namespace
}  // namespace runahead
