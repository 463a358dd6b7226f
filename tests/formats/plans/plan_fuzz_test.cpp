#include <catch2/catch.hpp>

#include <random>

#include "core/plan/expand.h"
#include "formats/machines/machine_json.h"
#include "formats/plans/plan_json.h"
#include "formats/plans/strategy_json.h"
#include "tests/formats/plans/full_plan.h"
#include "tests/support/random_plan.h"

namespace plimsoll::test {
namespace {

/// Whatever the text is, reading ends with a plan that can be expanded and written, or with an error in words.
bool survives(const std::string& text) {
  const Result<Plan> plan = read_plan(text, "fuzz");
  if (!plan) return !plan.error().what.empty() && plan.error().where.find("fuzz") == 0;
  for (const Body& body : plan->bodies) {
    if (expand(*plan, body).size() != instruction_count(*plan, body)) return false;
  }
  return read_plan(write_plan(*plan), "again").has_value();
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string small_plan(std::uint64_t seed) {
  RandomPlanOptions options;
  options.seed = seed;
  options.instructions = 12;
  return write_plan(random_plan(options));
}

}  // namespace

TEST_CASE("a truncated plan is refused at every byte") {
  const std::string text = write_plan(full_plan());
  const std::size_t end = text.find_last_of('}');
  for (std::size_t length = 0; length <= end; length += 7) {
    INFO("length " << length);
    REQUIRE_FALSE(read_plan(text.substr(0, length), "cut"));
  }
}

TEST_CASE("reading survives flipped bytes") {
  const std::string texts[] = {write_plan(full_plan()), small_plan(1), small_plan(2)};
  std::mt19937_64 random(7);
  for (int round = 0; round < 3000; ++round) {
    std::string text = texts[random() % 3];
    for (std::uint64_t flips = 1 + random() % 3; flips > 0; --flips) {
      text[random() % text.size()] = static_cast<char>(random() % 256);
    }
    INFO("round " << round);
    REQUIRE(survives(text));
  }
}

TEST_CASE("reading survives numbers replaced by absurd ones") {
  const std::string text = write_plan(full_plan());
  const std::string absurd[] = {"-1",  "1e999", "18446744073709551616", "4294967295", "2147483647", "-2147483648",
                                "1.5", "null",  "9223372036854775807",  "\"1EiB\"",   "1e18",       "[]",
                                "{}",  "true"};
  std::mt19937_64 random(11);
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool starts_number = is_digit(text[at]) && (text[at - 1] == ' ' || text[at - 1] == '[');
    if (!starts_number) continue;
    const std::size_t end = text.find_first_not_of("0123456789.e+-", at);
    const std::string changed = text.substr(0, at) + absurd[random() % std::size(absurd)] + text.substr(end);
    INFO("at " << at);
    REQUIRE(survives(changed));
  }
}

TEST_CASE("a deeply nested document is refused and does not exhaust the stack") {
  const std::string text(1000000, '[');
  CHECK_FALSE(read_plan(text, "deep"));
  CHECK_FALSE(read_machine(text, "deep"));
  CHECK_FALSE(read_strategy(text, "deep"));
}

}  // namespace plimsoll::test
