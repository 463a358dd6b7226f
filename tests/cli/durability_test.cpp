#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace plimsoll::test {
namespace {

using nlohmann::json;

json answer(const TemporaryFolder& folder, const Arguments& arguments) {
  const ChildEnd end = plimsoll_in(folder, arguments);
  INFO(end.err);
  REQUIRE(end.code == 0);
  return json::parse(end.out);
}

}  // namespace

TEST_CASE("fit and plan say what durability costs: bytes and room always, time where the drive is known") {
  // AdamW in fp32 keeps weights and two moments: 12 bytes a parameter. At 1 GB/s that is 12 ns a parameter, every 10 steps.
  const TemporaryFolder folder;
  const Arguments asked{kTinyModel, "--device-memory", "16MiB", "--ram", "64MiB", "--precision", "fp32", "--json", "--durability",
                        "checkpoint", "--save-every", "10"};
  Arguments fit = asked;
  fit.insert(fit.begin(), "fit");
  const json without = answer(folder, fit);
  const std::int64_t state = 12 * without["model"]["parameters"].get<std::int64_t>();
  CHECK(without["safety"]["durability"] == "checkpoint");
  CHECK(without["safety"]["every_steps"] == 10);
  CHECK(without["safety"]["written_bytes_each"] == state);
  CHECK(without["safety"]["room_bytes"] == 2 * state);
  CHECK(without["safety"]["seconds_each"].is_null());
  fit.insert(fit.end(), {"--ssd", "1GB:1,1", "--strategy", "resident"});
  const json with = answer(folder, fit);
  CHECK(with["safety"]["seconds_each"].get<double>() >= static_cast<double>(state) * 1e-9);
  CHECK(with["safety"]["step_share"].get<double>() == Approx(with["safety"]["seconds_each"].get<double>() / 10 / with["step_seconds"].get<double>()));
  Arguments plan = asked;
  plan.insert(plan.begin(), "plan");
  CHECK(answer(folder, plan)["safety"]["written_bytes_each"] == state);
}

TEST_CASE("run prints what durability took beside what was predicted, and options that do not go together are refused") {
  const TemporaryFolder folder;
  const json ran = answer(folder, tiny_run("6", {"--durability", "step", "--json"}));
  CHECK(ran["safety"]["every_steps"] == 1);
  CHECK(ran["safety"]["measured"]["times"] == 6);
  CHECK(ran["safety"]["seconds_each"].get<double>() > 0);
  CHECK(files_in(folder) == std::vector<std::string>{"run.plimsoll", "run.plimsoll.checkpoint.safetensors"});
  const auto refused = [&](const Arguments& more, const std::string& words) {
    Arguments line = more;
    line.push_back("--force");
    const ChildEnd end = plimsoll_in(folder, tiny_run("2", line));
    CHECK(end.code == 2);
    CHECK_THAT(end.err, Catch::Contains(words));
  };
  refused({"--durability", "always"}, "'always' is no durability");
  refused({"--durability", "none", "--save-every", "3"}, "--save-every does not go with it");
  refused({"--on-nan", "skip"}, "needs the state before the step");
  refused({"--on-nan", "pray"}, "'pray' is no policy");
}

}  // namespace plimsoll::test
