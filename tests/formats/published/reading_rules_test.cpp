#include <catch2/catch.hpp>

#include "formats/published/reading_rules.h"

using namespace plimsoll;

namespace {

const std::vector<std::string_view> kKeys{"stack", "accumulate", "gpu"};

PublishedRow row_of(std::string system, std::string notes) {
  PublishedRow row;
  row.fields = {{"system", std::move(system)}, {"notes", std::move(notes)}};
  return row;
}

std::vector<ReadingRule> rules_of(const std::string& lines) {
  const auto rules = read_reading_rules("when,sets,why\n" + lines, "rules.csv", kKeys);
  REQUIRE(rules);
  return *rules;
}

}  // namespace

TEST_CASE("a later rule goes before an earlier one, and each key stands once") {
  const auto rules = rules_of("system=*,stack=pytorch; gpu=A,\nsystem=Deep*,stack=deepspeed,\n");
  const auto reading = apply_rules(rules, row_of("DeepSpeed", ""));
  CHECK(reading.fact("stack") == "deepspeed");
  CHECK(reading.fact("gpu") == "A");
  CHECK(reading.facts.size() == 2);
  CHECK(reading.fact("accumulate").empty());
}

TEST_CASE("a rule holds only where all of its fields have their spelling, and carries the number that it found") {
  const auto rules = rules_of("system=llm* & notes=*grad_accum {}*,accumulate={},\n");
  CHECK(apply_rules(rules, row_of("llm-foundry", "flash; grad_accum 21; x")).fact("accumulate") == "21");
  CHECK(apply_rules(rules, row_of("other", "grad_accum 21")).facts.empty());
  CHECK(apply_rules(rules, row_of("llm-foundry", "none")).facts.empty());
}

TEST_CASE("what is open and why a row is refused add up") {
  const auto rules = rules_of("system=a*,open=dropout,\nsystem=ab*,open=GPU; refuse=duplicate: of another,\n");
  const auto reading = apply_rules(rules, row_of("abc", ""));
  CHECK(reading.open == std::vector<std::string>{"dropout", "GPU"});
  CHECK(reading.refusals == std::vector<std::string>{"duplicate: of another"});
}

TEST_CASE("a table with an unknown key or without key=value is refused with file, line and key") {
  const auto unknown = read_reading_rules("when,sets,why\nsystem=a,stakc=b,\n", "rules.csv", kKeys);
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().where == "rules.csv:2");
  CHECK(unknown.error().what == "column 'sets': unknown key 'stakc'");
  const auto bare = read_reading_rules("when,sets,why\nsystem,stack=b,\n", "rules.csv", kKeys);
  REQUIRE_FALSE(bare);
  CHECK(bare.error().what == "column 'when': 'system' is no key=value");
  CHECK_FALSE(read_reading_rules("when,why\na=b,c\n", "rules.csv", kKeys));
}
