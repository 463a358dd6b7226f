#include <catch2/catch.hpp>

#include <algorithm>

#include "tests/session/session_case.h"

namespace plimsoll::test {
namespace {

/// The losses of every strategy at one and two threads are those of the resident plan at one thread.
void check_all_strategies(Family family, std::int64_t accumulate) {
  const TemporaryFolder folder;
  RunRequest request = small_request(folder, family);
  request.recipe.accumulate = accumulate;
  request.replace = true;
  const std::vector<double> expected = losses_of(with_strategy(request, {}));
  REQUIRE(expected.size() == 20);
  CHECK(expected.back() < expected.front());  // it learns, so the comparison below is not one of constants
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

TEST_CASE("no strategy and no thread count changes a bit of a Llama's losses") {
  check_all_strategies(Family::kLlama, 1);
  check_all_strategies(Family::kLlama, 3);
}

TEST_CASE("a warm-up and the plan that is searched after it change no loss") {
  const TemporaryFolder folder;
  RunRequest request = small_request(folder);
  const std::vector<double> expected = losses_of(request);
  request.replace = true;
  request.warm_up_steps = 3;
  CHECK(losses_of(request) == expected);
}

TEST_CASE("a warm-up on a machine with a drive samples its traffic both ways") {
  const TemporaryFolder folder;
  RunRequest request = small_request(folder, Family::kGpt2, 3);
  request.warm_up_steps = 3;
  run_to_end(request);
  const auto file = read_run_file(request.output);
  REQUIRE(file);
  const auto sampled = [&](std::string_view link) {
    return std::any_of(file->cost_samples.begin(), file->cost_samples.end(),
                       [&](const CostSample& sample) { return sample.key.find(link) != std::string::npos; });
  };
  CHECK(sampled("ssd->host"));
  CHECK(sampled("host->ssd"));
}

TEST_CASE("two recipes that differ give different losses") {
  const TemporaryFolder folder;
  RunRequest request = small_request(folder);
  const std::vector<double> losses = losses_of(request);
  request.replace = true;
  request.recipe.seed = 2;
  CHECK(losses_of(request) != losses);
}

TEST_CASE("evaluations and checkpoints in between change no loss") {
  const TemporaryFolder folder;
  RunRequest request = small_request(folder);
  const std::vector<double> expected = losses_of(request);
  request.replace = true;
  request.evaluation_data = request.data;
  request.schedule.evaluate_every = 3;
  request.schedule.save_every = 4;
  CHECK(losses_of(request) == expected);
  const auto file = read_run_file(request.output);
  REQUIRE(file);
  CHECK(file->evaluations.size() == 7);  // after 3, 6, 9, 12, 15, 18 and, at the end, 20
  CHECK(file->checkpoints.size() == 5);  // after 4, 8, 12, 16 and, at the end, 20
}

}  // namespace plimsoll::test
