#include <catch2/catch.hpp>

#include "formats/text/parse_yaml.h"

namespace plimsoll {
namespace {

nlohmann::json value(const std::string& text) {
  const auto parsed = parse_yaml(text, "a.yaml");
  REQUIRE(parsed);
  return *parsed;
}

std::string fault(const std::string& text) {
  const auto parsed = parse_yaml(text, "a.yaml");
  REQUIRE_FALSE(parsed);
  return parsed.error().text();
}

}  // namespace

TEST_CASE("plain words are null, booleans and numbers as Python's readers and their users take them") {
  CHECK(value("{a: yes, b: 'yes', c: 1e-5, d: 2_000, e: ~, f: 007, g: 1.5, h: -3, i: v1.0, j: No, k: \"12\", l: }") ==
        nlohmann::json::parse(R"({"a":true,"b":"yes","c":1e-5,"d":2000,"e":null,"f":7,"g":1.5,"h":-3,"i":"v1.0","j":false,"k":"12","l":null})"));
  CHECK(value("- a\n- [1, {b: 2}]\n") == nlohmann::json::parse(R"(["a",[1,{"b":2}]])"));
  CHECK(value("99999999999999999999") == 1e20);
  CHECK(value("1.2.3") == "1.2.3");
  CHECK(value("---\na: 1\n---\nb: 2\n") == nlohmann::json::parse(R"({"a":1})"));
}

TEST_CASE("anchors stand where their aliases do, and a merged mapping gives way to own keys") {
  CHECK(value("base: &b {x: 1, y: 2}\nown:\n  <<: *b\n  y: 3\n") == nlohmann::json::parse(R"({"base":{"x":1,"y":2},"own":{"x":1,"y":3}})"));
}

TEST_CASE("errors name the line; what would grow without end is refused") {
  CHECK(fault("a: 1\nb: [1\n").find("a.yaml: line 3") == 0);
  CHECK(fault("a: 1\na: 2\n") == "a.yaml: line 2: the key 'a' is given twice");
  CHECK(fault("? [1, 2]\n: 3\n").find("a key is no word") != std::string::npos);
  CHECK(fault("a: *nothing\n").find("line 1") != std::string::npos);
  std::string deep, wide = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (int i = 0; i < 100; ++i) deep += "[";
  CHECK(fault(deep + std::string(100, ']')).find("deeper than 64") != std::string::npos);
  CHECK_FALSE(parse_yaml(std::string(100'000, '['), "a.yaml"));
  for (int i = 1; i < 9; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    wide += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 9; ++k) wide += before + ", ";
    wide += before + "]\n";
  }
  CHECK(fault(wide).find("more than 100000 values") != std::string::npos);
}

}  // namespace plimsoll
