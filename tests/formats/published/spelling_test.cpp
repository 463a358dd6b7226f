#include <catch2/catch.hpp>

#include <string>

#include "formats/published/spelling.h"

using namespace plimsoll;

TEST_CASE("a spelling is the whole text, case aside, and a star stands for any run of characters") {
  CHECK(match_spelling("bf16", "BF16"));
  CHECK_FALSE(match_spelling("bf16", "bf16 AMP"));
  CHECK(match_spelling("bf16*", "bf16 AMP"));
  CHECK(match_spelling("*AMP", "bf16 AMP"));
  CHECK(match_spelling("*6*A*", "bf16 AMP"));
  CHECK(match_spelling("*", ""));
  CHECK_FALSE(match_spelling("", "x"));
  CHECK(match_spelling("*aab", "aaaab"));
  CHECK_FALSE(match_spelling("ab*ba", "aba"));
}

TEST_CASE("one of several spellings is enough") {
  CHECK(match_spelling("A100|A100_80GB", "a100_80gb"));
  CHECK_FALSE(match_spelling("A100|A100_80GB", "A100_40GB"));
}

TEST_CASE("a number takes all of its digits and is told") {
  CHECK(match_spelling("*TP{} *", "TP16 PP2")->number == 16);
  CHECK(match_spelling("grad_accum {}", "grad_accum 4")->number == 4);
  CHECK_FALSE(match_spelling("TP{}6", "TP16"));
  CHECK_FALSE(match_spelling("*{}", "grad_accum"));
  CHECK(match_spelling("*-rank{}*", "llama-3.2-3B-rank32-x")->number == 32);
  CHECK_FALSE(match_spelling("*{}", "99999999999999999999"));
}

TEST_CASE("a hostile spelling and text end in time") {
  const std::string text(20000, 'a');
  CHECK_FALSE(match_spelling("*a*a*a*a*a*a*b", text));
}
