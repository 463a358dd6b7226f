#include <catch2/catch.hpp>

#include "formats/text/complete_utf8.h"

namespace plimsoll::test {

TEST_CASE("a text is complete up to a last character of which bytes are missing") {
  CHECK(complete_utf8("") == 0);
  CHECK(complete_utf8("ab") == 2);
  CHECK(complete_utf8("a\u00e9") == 3);
  CHECK(complete_utf8("a\xc3") == 1);
  CHECK(complete_utf8("a\xe4\xb8") == 1);
  CHECK(complete_utf8("a\xf0\x9f\x98") == 1);
  CHECK(complete_utf8("a\xf0\x9f\x98\x80") == 5);
}

TEST_CASE("bytes that are no UTF-8 do not hold a text back") {
  CHECK(complete_utf8("a\x80\x80\x80\x80") == 5);
  CHECK(complete_utf8("a\xff") == 2);
}

}  // namespace plimsoll::test
