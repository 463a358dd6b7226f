#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace plimsoll::test {
namespace {

using nlohmann::json;

const Arguments kSmall{"fit", "gpt:layers=4,hidden=128,heads=4,vocab=256,positions=128", "--on", "RTX 2060 6GB", "--batch", "8"};

json fit(const Arguments& more, int code) {
  const TemporaryFolder folder;
  Arguments arguments = kSmall;
  arguments.insert(arguments.end(), more.begin(), more.end());
  arguments.push_back("--json");
  const ChildEnd end = plimsoll_in(folder, arguments);
  INFO(end.err);
  REQUIRE(end.code == code);
  return json::parse(end.out);
}

}  // namespace

TEST_CASE("fit names the demands that collide, each of them needed for that, and what would make it fit") {
  const json answer = fit({"--device-memory", "1MiB", "--ram", "16GiB"}, 3);
  REQUIRE(answer["collisions"].size() >= 1);
  for (const json& collision : answer["collisions"]) {
    double sum = 0, smallest = 1e30;
    for (const json& demand : collision["demands"]) {
      sum += demand["bytes"].get<double>();
      smallest = std::min(smallest, demand["bytes"].get<double>());
    }
    CHECK(sum > collision["usable_bytes"].get<double>());
    CHECK(sum - smallest <= collision["usable_bytes"].get<double>());
  }
  REQUIRE(answer["changes"].size() >= 1);
  CHECK(answer["changes"][0]["more_bytes"] > 0);
  CHECK(answer["lower_bound"]["gap"] >= 0);
}

TEST_CASE("fit of a plan that fits names no collision, and its margin when it is asked for") {
  const json answer = fit({"--margin-of", "10"}, 0);
  CHECK(answer["collisions"].empty());
  CHECK(answer["changes"].empty());
  CHECK(answer["margin"]["percent"] == 10);
  CHECK(answer["margin"]["stays_best"].is_boolean());
  CHECK(answer["margin"]["fits"] == true);
  CHECK_FALSE(fit({}, 0).contains("margin"));
}

TEST_CASE("recompute makes a chain of a model, finds its best schedule, and reads the chain that it wrote") {
  const TemporaryFolder folder;
  const ChildEnd made =
      plimsoll_in(folder, {"recompute", "gpt:layers=4,hidden=128,heads=4,vocab=256,positions=128", "--on", "RTX 2060 6GB",
                           "--batch", "4", "--budget", "6MiB", "--json", "--save-chain", "chain.json"});
  INFO(made.err);
  REQUIRE((made.code == 0 || made.code == 3));
  const ChildEnd read = plimsoll_in(folder, {"recompute", "chain.json", "--budget", "6MiB", "--json"});
  CHECK(json::parse(read.out)["time"] == json::parse(made.out)["time"]);
  CHECK(json::parse(read_whole(folder.file("chain.json")))["blocks"].size() == 6);
  const ChildEnd ignored = plimsoll_in(folder, {"recompute", "chain.json", "--budget", "6MiB", "--batch", "2"});
  CHECK(ignored.code == 2);
  CHECK(ignored.err.find("--batch") != std::string::npos);
}

}  // namespace plimsoll::test
