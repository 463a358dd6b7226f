// All ranks as one executor; ranks are threads here.
#include <catch2/catch.hpp>

#include <atomic>
#include <fstream>
#include <iterator>
#include <optional>

#include "tests/ranks/tiny_team.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

using namespace test;

const std::vector<JobShape> kShapes = {
    {.schedule = "1f1b", .ranks = 2, .micro_batches = 2},
    {.schedule = "zb-v", .ranks = 2, .micro_batches = 4},
    {.schedule = "gpipe", .ranks = 2, .micro_batches = 1, .replicas = 2},
    {.schedule = "gpipe", .ranks = 1, .micro_batches = 1, .replicas = 2, .zero = 1, .clip = 0},
    {.schedule = "gpipe", .ranks = 1, .micro_batches = 1, .replicas = 3, .zero = 2, .clip = 0},
    {.schedule = "gpipe", .ranks = 2, .micro_batches = 1, .replicas = 2, .zero = 3, .clip = 0},
};

/// As records are: which come is counted over all micro-batches of all steps.
class NumberedBatches final : public BatchSource {
 public:
  [[nodiscard]] Result<void> check(const ModelSpec&, const Recipe&) const override { return {}; }
  void fill(const BatchPlace& place, const Recipe&, std::span<const std::span<std::byte>> parts) const override {
    const std::int64_t number = place.step * place.micro_batches + place.micro_batch;
    for (std::int32_t& token : part_as<std::int32_t>(parts[0])) token = static_cast<std::int32_t>(5 * number % 128);
  }
};

std::string bytes_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

TEST_CASE("a state that ranks wrote is the file that one rank writes, byte for byte") {
  const TemporaryFolder folder;
  for (const JobShape& shape : kShapes) {
    const RankJob job = test::tiny_job(shape);
    INFO(describe(job));
    alone(job, [&](Executor& executor) {
      losses_of(executor, 0, 3);
      save(folder.path() + "/one", job, executor, 3);
    });
    on_ranks(job, [&](JobExecutor& team) {
      losses_of(team, 0, 3);
      save(folder.path() + "/many", job, team, 3);
    });
    REQUIRE(bytes_in(folder.path() + "/one").size() > 100'000);
    CHECK(bytes_in(folder.path() + "/many") == bytes_in(folder.path() + "/one"));
  }
}

TEST_CASE("what ranks began one rank ends, and the other way round, with the losses of one rank throughout") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/state";
  for (const JobShape& shape : kShapes) {
    const RankJob job = test::tiny_job(shape);
    INFO(describe(job));
    std::vector<double> whole, ended;
    alone(job, [&](Executor& executor) { whole = losses_of(executor, 0, 4); });
    on_ranks(job, [&](JobExecutor& team) {
      losses_of(team, 0, 2);
      save(path, job, team, 2);
    });
    alone(job, [&](Executor& executor) {
      load(path, job, executor);
      ended = losses_of(executor, 2, 2);
    });
    CHECK(ended == std::vector<double>(whole.begin() + 2, whole.end()));
    on_ranks(job, [&](JobExecutor& team) {
      losses_of(team, 0, 1);  // what is there now is of no account
      load(path, job, team);
      ended = losses_of(team, 2, 2);
    });
    CHECK(ended == std::vector<double>(whole.begin() + 2, whole.end()));
  }
}

TEST_CASE("weights in two types come back on ranks that read a part of what others update") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/state";
  for (const JobShape& shape : kShapes) {
    RankJob job = test::tiny_job(shape);
    job.recipe.precision = Precision::kBf16Mixed;
    INFO(describe(job));
    std::vector<double> whole, ended;
    on_ranks(job, [&](JobExecutor& team) {
      whole = losses_of(team, 0, 2);
      save(path, job, team, 2);
      const auto rest = losses_of(team, 2, 2);
      whole.insert(whole.end(), rest.begin(), rest.end());
    });
    on_ranks(job, [&](JobExecutor& team) {
      load(path, job, team);
      ended = losses_of(team, 2, 2);
    });
    CHECK(ended == std::vector<double>(whole.begin() + 2, whole.end()));
  }
}

TEST_CASE("ranks find on held-out data what one rank finds") {
  for (const JobShape& shape : kShapes) {
    RankJob job = test::tiny_job(shape);
    job.evaluation = true;
    INFO(describe(job));
    std::optional<HeldOut> one, many;
    const auto find = [](std::optional<HeldOut>& found) {
      return [&found](Executor& executor) {
        losses_of(executor, 0, 2);
        const auto held_out = executor.evaluate(kText, 3);
        if (!held_out) FAIL(held_out.error().text());
        found = *held_out;
        losses_of(executor, 2, 1);  // training goes on from where it was
      };
    };
    alone(job, find(one));
    on_ranks(job, find(many));
    CHECK(one->loss > 0);
    CHECK(many == one);
  }
}

TEST_CASE("ranks evaluate on the records that one rank evaluates on, however many micro-batches a step has") {
  RankJob job = test::tiny_job({.schedule = "gpipe", .ranks = 1, .micro_batches = 2, .replicas = 2});
  job.evaluation = true;
  double one = 0, many = 0;
  const auto find = [](double& loss) {
    return [&loss](Executor& executor) { loss = executor.evaluate(NumberedBatches(), 3).value().loss; };
  };
  alone(job, find(one));
  on_ranks(job, find(many));
  CHECK(one > 0);
  CHECK(many == one);
}

TEST_CASE("ranks stop together, between two stretches of steps") {
  const RankJob job = test::tiny_job({.ranks = 2, .micro_batches = 2});
  on_ranks(job, [&](JobExecutor& team) {
    std::atomic<bool> stop{false};
    const auto trace =
        team.run_steps({.steps = 1'000'000, .on_step = [&](const StepSummary&) { stop = true; }, .stop = &stop}, kText);
    REQUIRE(trace);
    CHECK(trace->steps.size() == 1);  // the first stretch is one step: nobody knows yet how long one takes
    CHECK(team.recorded().steps.size() == 1);
  });
}

}  // namespace plimsoll
