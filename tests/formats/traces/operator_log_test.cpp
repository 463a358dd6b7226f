#include <catch2/catch.hpp>

#include "formats/traces/read_operator_log.h"

namespace plimsoll::test {
namespace {

std::string memory(const std::string& name, int bytes) {
  return R"({"INSTRUCTION": "MEMORY", "NAME": ")" + name + R"(", "MEMORY": ")" + std::to_string(bytes) + "\"}\n";
}

std::string alias(const std::string& name, int of) {
  return R"({"INSTRUCTION": "ALIAS", "NAME": ")" + name + R"(", "ALIAS": ")" + std::to_string(of) + "\"}\n";
}

std::string constant(const std::string& name, int bytes) {
  return R"({"INSTRUCTION": "CONSTANT", "NAME": ")" + name + "\"}\n" + memory(name, bytes);
}

std::string call(const std::string& name, const std::string& arguments, const std::string& results, int time) {
  return R"({"INSTRUCTION": "CALL", "NAME": ")" + name + R"(", "ARGS": [)" + arguments + R"(], "RESULT": [)" + results +
         R"(], "TIME": ")" + std::to_string(time) + "\"}\n";
}

std::string one(const std::string& what, const std::string& rest) {
  return R"({"INSTRUCTION": ")" + what + "\", " + rest + "}\n";
}

const std::string kSmall =
    constant("w", 8) + one("ANNOTATE", R"("ANNOTATION": "START")") + constant("x", 2) +
    call("conv", R"("x")", R"("a", "m")", 10) + memory("a", 4) + alias("a", -1) + memory("m", 1) + alias("m", -1) +
    call("view", R"("a")", R"("v")", 2) + memory("v", 4) + alias("v", 0) +
    one("MUTATE", R"("NAME": "add_", "ARGS": ["a", "v"], "MUTATE": [0], "TIME": 3)") +
    one("COPY", R"("DST": "b", "SRC": "v")") + one("COPY_FROM", R"("DST": "b", "SRC": "m")") +
    one("RELEASE", R"("NAME": "m")") + one("RELEASE", R"("NAME": "v")") + one("RELEASE", R"("NAME": "w")");

std::string trouble(const std::string& text) {
  const auto graph = read_operator_log(text, "a.log");
  REQUIRE_FALSE(graph);
  return graph.error().text();
}

}  // namespace

TEST_CASE("a log of operators is read from its START: views take no bytes, and what changes in place is written anew") {
  const auto graph = read_operator_log(kSmall, "a.log");
  REQUIRE(graph);
  REQUIRE(graph->operators.size() == 4);  // x, conv, view, add_
  CHECK(graph->operators[0].constant);
  CHECK(graph->base_time() == Nanoseconds(10 + 2 + 3));
  REQUIRE(graph->values.size() == 5);  // x, a, m, v, and a once more
  CHECK(graph->values[3].view);
  CHECK(graph->values[3].storage == graph->values[1].storage);
  CHECK(graph->storages.size() == 4);
  CHECK(graph->operators[2].written == Bytes(0));
  CHECK(graph->operators[3].written == Bytes(4));
  CHECK(graph->operators[3].inputs == std::vector<ValueId>{ValueId(1), ValueId(3)});
}

TEST_CASE("at a log's end what a name still means is kept") {
  // x; a as add_ left it; b, which means m, though m itself was let go.
  const auto graph = read_operator_log(kSmall, "a.log");
  REQUIRE(graph);
  CHECK(graph->kept == std::vector<ValueId>{ValueId(0), ValueId(4), ValueId(2)});
}

TEST_CASE("what is wrong in a log of operators is told with its line") {
  CHECK_THAT(trouble("{\"INSTRUCTION\": \"CALL\"\n"), Catch::Contains("a.log:1") && Catch::Contains("no JSON object"));
  CHECK_THAT(trouble(constant("x", 1) + call("f", R"("y")", R"("z")", 1)),
             Catch::Contains("a.log:3") && Catch::Contains("nothing is called y"));
  CHECK_THAT(trouble(constant("x", 1) + constant("x", 1)),
             Catch::Contains("a.log:3") && Catch::Contains("x is there already"));
  CHECK_THAT(trouble(call("f", "", R"("z")", 1) + alias("z", -1)),
             Catch::Contains("a.log:2") && Catch::Contains("MEMORY of z must stand here"));
  CHECK_THAT(trouble(call("f", "", R"("z")", 1) + memory("z", 1)), Catch::Contains("ALIAS of z must stand here"));
  CHECK_THAT(trouble(call("f", "", R"("z")", 1) + memory("z", 1) + alias("z", 0)),
             Catch::Contains("ALIAS 0 is no place"));
  CHECK_THAT(trouble(one("CONSTANT", R"("NAME": "x")") +
                     one("MEMORY", R"("NAME": "x", "MEMORY": 18446744073709551615)")),
             Catch::Contains("MEMORY is no number from -1 to 2^40"));
  CHECK_THAT(trouble(call("f", "", "", 1)), Catch::Contains("RESULT is empty"));
  CHECK_THAT(trouble(one("FORGET", R"("NAME": "x")")), Catch::Contains("FORGET is not known"));
  CHECK_THAT(trouble(one("CONSTANT", R"("NAME": 3)")), Catch::Contains("NAME is no text"));
  CHECK_THAT(trouble(constant("x", 1) + one("MUTATE", R"("NAME": "f", "ARGS": ["x"], "MUTATE": [1], "TIME": 1)")),
             Catch::Contains("MUTATE is no list of places"));
  CHECK_THAT(trouble(constant("x", 1) + one("ANNOTATE", R"("ANNOTATION": "START")")), Catch::Contains("no operator"));
}

TEST_CASE("a short log whose operators connect more than a plan can hold is refused") {
  // Each line reads 4096 names and writes one of them 4096 times: 16.8 million pairs.
  std::string names = "\"x\"", places = "0";
  for (int i = 1; i < 4096; ++i) names += ", \"x\"", places += ", 0";
  CHECK_THAT(trouble(constant("x", 1) + one("MUTATE", R"("NAME": "f", "TIME": 1, "ARGS": [)" + names +
                                                          R"(], "MUTATE": [)" + places + "]")),
             Catch::Contains("a.log:3") && Catch::Contains("pairs of an input and an output"));
}

}  // namespace plimsoll::test
