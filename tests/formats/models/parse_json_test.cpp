#include "formats/text/parse_json.h"

#include <catch2/catch.hpp>

namespace plimsoll {
namespace {

TEST_CASE("a syntax error names file, line and byte") {
  const auto parsed = parse_json("{\"a\": 1,\n \"b\": }", "x.json");
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().where == "x.json: line 2, byte 16");  // the '}' is the 16th byte
  CHECK(parse_json("{", "x", 8).error().where.find("byte 9") != std::string::npos);
}

TEST_CASE("a key given twice in one object is refused, the same key in two objects is not") {
  CHECK(parse_json(R"({"a": {"k": 1}, "b": {"k": 2}})", "x"));
  CHECK(parse_json(R"([{"k": 1}, {"k": 2}])", "x"));
  const auto twice = parse_json(R"({"a": {"k": 1, "k": 1}})", "x");
  REQUIRE_FALSE(twice);
  CHECK(twice.error().what == "the key 'k' is given twice");
  CHECK(twice.error().where.find("byte") != std::string::npos);
}

TEST_CASE("nesting is bounded at 64 levels, however deep the text goes") {
  const auto nested = [](std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  CHECK(parse_json(nested(60), "x"));
  CHECK_FALSE(parse_json(nested(100), "x"));
  CHECK_FALSE(parse_json(nested(1'000'000), "x"));
  CHECK_FALSE(parse_json(std::string(1'000'000, '['), "x"));
}

TEST_CASE("a number beyond a double and text that is not UTF-8 are refused") {
  CHECK_FALSE(parse_json("1e999", "x"));
  CHECK_FALSE(parse_json("\"\xff\"", "x"));
}

}  // namespace
}  // namespace plimsoll
