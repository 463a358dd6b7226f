#include <catch2/catch.hpp>

#include "formats/models/resolve_model.h"
#include "sim/answers/room_to_fit.h"

namespace plimsoll {
namespace {

Question with_ram(Bytes ram, std::optional<Bytes> ssd = std::nullopt) {
  MachineOptions options;
  options.ram = ram;
  options.ssd = ssd;
  Question question{.spec = resolve_model("gpt2-xl").value(), .recipe = {.precision = Precision::kFp16Mixed, .sequence = 1024}};
  return on_machine(std::move(question), {find_gpu(built_in_gpu_catalogue(), "RTX 2060 6GB").value(), options}).value();
}

bool fits(const Question& question) { return answer_question(question, {.alternatives = false}).value().fits; }

}  // namespace

// 1.5576 B parameters take 16 bytes each, 23.2 GiB. Of 16 GiB of RAM 14 are usable, of the board 5.45: 19.5 together.
TEST_CASE("the least RAM that is sold and makes a training fit is named, and so is a drive with its room") {
  const Question question = with_ram(kGiB * 16);
  REQUIRE_FALSE(fits(question));
  const std::vector<ChangeAnswer> changes = room_to_fit(question);
  REQUIRE(changes.size() == 2);
  CHECK(changes[0].what == "24.00 GiB of RAM");
  CHECK(changes[0].more == kGiB * 8);
  CHECK(fits(with_ram(kGiB * 24)));
  CHECK_THAT(changes[1].what, Catch::StartsWith("an SSD with ") && Catch::EndsWith(" free"));
  CHECK_THAT(changes[1].strategy, Catch::EndsWith("-ssd"));
  CHECK(changes[1].more > Bytes(0));
  const double slower = answer_question(with_ram(kGiB * 16, Bytes(2'000'000'000'000))).value().step_seconds;
  CHECK(changes[1].step_seconds == Approx(slower));
}

TEST_CASE("the best plan alone says the same as the answer in full: its strategy, its step and what it needs") {
  for (const std::int64_t accumulate : {1, 16}) {
    Question question = with_ram(kGiB * 32);
    question.recipe.accumulate = accumulate;
    const FitAnswer answer = answer_question(question, {.instruction_budget = kRoomBudget, .alternatives = false}).value();
    const Candidate best = best_candidate(question, {.instruction_budget = kRoomBudget}).value();
    REQUIRE(answer.fits);
    REQUIRE(best.fits());
    CHECK(best.strategy == answer.strategy);
    CHECK(to_seconds(*best.step) == answer.step_seconds);
    REQUIRE(best.needs.size() == answer.memory.size());
    for (std::size_t i = 0; i < best.needs.size(); ++i) CHECK(best.needs[i].needed == answer.memory[i].peak);
  }
}

TEST_CASE("an answer that says what room would make it fit says what is found alone") {
  const Question question = with_ram(kGiB * 16);
  const FitAnswer answer = answer_question(question, {.alternatives = false, .room_budget = kRoomBudget}).value();
  const std::vector<ChangeAnswer> alone = room_to_fit(question, kRoomBudget);
  REQUIRE(answer.larger.size() == alone.size());
  for (std::size_t i = 0; i < alone.size(); ++i) {
    CHECK(answer.larger[i].what == alone[i].what);
    CHECK(answer.larger[i].strategy == alone[i].strategy);
    CHECK(answer.larger[i].step_seconds == alone[i].step_seconds);
  }
}

TEST_CASE("a shorter search for room names as little RAM and a step that is no less, and says that it is a bound") {
  const Question question = with_ram(kGiB * 16);
  const std::vector<ChangeAnswer> whole = room_to_fit(question), quick = room_to_fit(question, kRoomBudget);
  REQUIRE(quick.size() == whole.size());
  CHECK(quick[0].what == whole[0].what);
  for (std::size_t i = 0; i < quick.size(); ++i) {
    CHECK(quick[i].at_most);
    CHECK_FALSE(whole[i].at_most);
    CHECK(quick[i].step_seconds >= whole[i].step_seconds);
  }
}

TEST_CASE("a drive that is too small is to be a larger one") {
  const Question question = with_ram(kGiB * 16, Bytes(4'000'000'000));
  REQUIRE_FALSE(fits(question));
  const std::vector<ChangeAnswer> changes = room_to_fit(question);
  REQUIRE_FALSE(changes.empty());
  CHECK_THAT(changes.back().what, Catch::StartsWith("an SSD with "));
  CHECK(changes.back().more > Bytes(0));
}

TEST_CASE("what neither RAM nor a drive makes fit is not told to") {
  Question question = with_ram(kGiB * 16, Bytes(2'000'000'000'000));
  question.recipe.micro_batch = 4096;  // one block's activations alone are more than the board
  REQUIRE_FALSE(fits(question));
  CHECK(room_to_fit(question).empty());
}

}  // namespace plimsoll
