#include <algorithm>
#include <array>
#include <catch2/catch.hpp>

#include "formats/corpus/token_file.h"
#include "formats/text/read_text_file.h"
#include "tests/session/session_case.h"

namespace plimsoll::test {
namespace {

/// The text as packed rows in which two thirds of the tokens count.
std::string write_masked(const TemporaryFolder& folder, const std::string& text, std::int64_t sequence) {
  const std::string bytes = read_text_file(text, Bytes(1 << 22)).value();
  const std::size_t row = static_cast<std::size_t>(sequence) + 1;
  TokenFileWriter writer(folder.file("masked.bin"), 256, sequence + 1, "");
  for (std::size_t at = 0; at + row <= bytes.size(); at += row) {
    std::vector<std::int32_t> tokens;
    std::vector<bool> counts;
    for (std::size_t i = at; i < at + row; ++i) {
      tokens.push_back(static_cast<unsigned char>(bytes[i]));
      counts.push_back(i % 3 != 0);
    }
    writer.append(tokens, counts);
  }
  writer.finish();
  return folder.file("masked.bin");
}

/// The losses of every strategy at one and two threads are those of the resident plan at one thread.
void check_all_strategies(Family family, std::int64_t accumulate, bool masked = false) {
  const TemporaryFolder folder;
  RunRequest request = small_request(folder, family);
  if (masked) request.data = write_masked(folder, request.data, request.recipe.sequence);
  request.recipe.accumulate = accumulate;
  request.replace = true;
  const std::vector<double> expected = losses_of(with_strategy(request, {}));
  REQUIRE(expected.size() == 20);
  CHECK(*std::min_element(expected.begin(), expected.end()) <
        0.6 * expected.front());  // it learns, so the comparison below is not one of constants
  for (const std::int64_t threads : {1, 2}) {
    request.machine = own_machine(threads);
    for (const Strategy& strategy : executable_strategies()) {
      INFO(strategy.name << ": " << describe(strategy) << ", threads " << threads);
      CHECK(losses_of(with_strategy(request, strategy)) == expected);
    }
  }
}

}  // namespace

TEST_CASE("no strategy and no thread count changes a bit of a GPT's losses") {
  check_all_strategies(Family::kGpt2, 1);
  check_all_strategies(Family::kGpt2, 3);
}

TEST_CASE("no strategy and no thread count changes a bit of losses over packed rows with a mask") {
  check_all_strategies(Family::kGpt2, 2, true);
}

TEST_CASE("no strategy and no thread count changes a bit of a Llama's losses") {
  check_all_strategies(Family::kLlama, 1);
  check_all_strategies(Family::kLlama, 3);
}

TEST_CASE("no strategy and no thread count changes a bit of the losses of models with other norms, rotations and blocks") {
  for (const Family family : {Family::kQwen2, Family::kQwen3, Family::kGemma, Family::kPhi}) check_all_strategies(family, 2);
}

TEST_CASE("from the warm-up to every strategy, on every way to the drive, the state moves without losing a bit") {
  for (const Family family : {Family::kGpt2, Family::kLlama}) {
    const TemporaryFolder folder;
    RunRequest request = small_request(folder, family, 8);
    const std::vector<double> expected = losses_of(request);
    request.replace = true;
    request.warm_up_steps = 3;
    int way = 0;
    for (const bool with_drive : {true, false}) {
      for (const Strategy& strategy : executable_strategies()) {
        RunRequest to = with_strategy(request, strategy);
        if (!with_drive && to.plan->arena_bytes(*to.machine.space(SpaceKind::kSsd)).count > 0) continue;
        if (!with_drive) to = with_strategy(without_drive(request), strategy);
        to.drive.way = std::array{IoWay::kRegisteredRing, IoWay::kRing, IoWay::kThreads}[way++ % 3];
        INFO(strategy.name << ": " << describe(strategy) << ", drive " << with_drive);
        const RunOutcome outcome = run_to_end(to);
        CHECK(losses_of(outcome) == expected);
        if (!outcome.changed || outcome.changed->moved.count == 0) continue;
        CHECK(outcome.changed->after_steps == 3);
        const auto file = read_run_file(to.output);
        REQUIRE(file);
        CHECK(file->trace("migration")->body == "migrate");
        CHECK(file->trace("predicted migration")->trace.events.size() == file->trace("migration")->trace.events.size());
      }
    }
  }
}

}  // namespace plimsoll::test
