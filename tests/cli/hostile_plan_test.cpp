// Plan files that somebody changed after the planner wrote them: refused by `plimsoll run` before anything runs.
#include <catch2/catch.hpp>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "formats/runs/database.h"
#include "tests/cli/program.h"

namespace plimsoll::test {
namespace {

using nlohmann::json;

/// A plan for this computer, and runs of changed copies of it.
struct Planned {
  Planned() {
    const ChildEnd made = plimsoll_in(folder, {"plan", kTinyModel, "--device-memory", "16MiB", "--ram", "64MiB",
                                               "-o", "plan.json"});
    INFO(made.err);
    REQUIRE(made.code == 0);
    plan = json::parse(read_whole(folder.file("plan.json")));
  }

  ChildEnd run(const json& changed) const {
    write_file(folder.file("changed.json"), changed.dump());
    return plimsoll_in(folder,
                       {"run", "changed.json", "--data", kText, "--steps", "1", "-o", "run.plimsoll", "--force"});
  }

  /// The change is refused as bad input, and no run file appears.
  void refuse(const char* what, const std::function<void(json&)>& change, const std::string& words) const {
    json changed = plan;
    change(changed);
    const ChildEnd end = run(changed);
    INFO(what << "\n" << end.err);
    CHECK(end.code == 2);
    CHECK_THAT(end.err, Catch::Contains(words));
    CHECK(files_in(folder) == std::vector<std::string>{"changed.json", "plan.json"});
  }

  TemporaryFolder folder;
  json plan;
};

/// The first instruction of a block that `wanted` likes.
json& instruction_of(json& plan, const std::function<bool(const json&)>& wanted) {
  for (json& block : plan["blocks"]) {
    for (json& instruction : block["instructions"]) {
      if (wanted(instruction)) return instruction;
    }
  }
  FAIL("the plan has no such instruction");
  return plan;
}

bool is_launch(const json& instruction) { return instruction.value("kind", "") == "launch"; }

}  // namespace

TEST_CASE("a plan file that nobody changed runs") {
  const Planned planned;
  CHECK(planned.run(planned.plan).code == 0);
}

TEST_CASE("a plan file with a changed kernel is refused before it runs") {
  const Planned planned;
  planned.refuse(
      "a kernel of a million times the rows",
      [](json& p) {
        p["kernels"][0]["shape"]["rows"] = p["kernels"][0]["shape"].value("rows", std::int64_t{1}) * 1000000;
      },
      "needs");
  planned.refuse(
      "a kernel of another kind", [](json& p) { p["kernels"][0]["kind"] = "adamw"; }, "operands");
  for (const int kind : {3, 200}) {  // ALiBi, and a number that is none: both were computed as if all keys were seen
    planned.refuse(
        "attention of a kind that no kernel computes",
        [kind](json& p) {
          for (json& kernel : p["kernels"]) {
            if (kernel["kind"] == "attention") kernel["shape"]["variant"] = kind;
          }
        },
        kind == 3 ? "attention of the kind 'causal ALiBi'" : "attention of the kind 'unknown'");
  }
  planned.refuse(
      "a kernel that is not there", [](json& p) { instruction_of(p, is_launch)["kernel"] = 99999; }, "no kernel 99999");
}

TEST_CASE("a plan file with a changed address, size, operand or count is refused before it runs") {
  const Planned planned;
  planned.refuse(
      "a buffer behind its arena", [](json& p) { p["buffers"][0]["offset"] = std::int64_t{1} << 40; },
      "do not lie in the arena");
  planned.refuse(
      "a buffer before its arena", [](json& p) { p["buffers"][0]["offset"] = -256; }, "/buffers/0/offset");
  planned.refuse(
      "a buffer of more than there is", [](json& p) { p["buffers"][0]["bytes"] = std::int64_t{1} << 59; }, "arena");
  planned.refuse(
      "an arena of more than there is", [](json& p) { p["arenas"][0]["bytes"] = std::int64_t{1} << 50; }, "usable");
  planned.refuse(
      "a use that is longer than its buffer",
      [](json& p) {
        instruction_of(p, is_launch)["uses"][0] = {0, "r", std::int64_t{1} << 40};
      },
      "instruction");
  planned.refuse(
      "state of no group", [](json& p) { p["state"][0]["group"] = 4000000; }, "state of group 4000000");
  planned.refuse(
      "a million slots", [](json& p) { p["buffers"][0]["slots"] = 1000000; }, "/buffers/0/slots");
  planned.refuse(
      "a block repeated two billion times", [](json& p) { p["bodies"][0]["calls"][0]["repeat"] = 2000000000; },
      "repeat");
}

TEST_CASE("a run file that names a checkpoint in another folder opens nothing there") {
  const TemporaryFolder folder;
  REQUIRE(plimsoll_in(folder, tiny_run("2")).code == 0);
  std::filesystem::remove(folder.file("run.plimsoll.checkpoint.safetensors"));
  Database(folder.file("run.plimsoll"), Database::Mode::kCreate).run("UPDATE checkpoints SET path = '/etc/hostname'");
  const ChildEnd end = plimsoll_in(
      folder, {"run", "--resume", "run.plimsoll", "--data", kText, "--steps", "4", "-o", "next.plimsoll"});
  INFO(end.err);
  CHECK(end.code == 2);
  CHECK_THAT(end.err, Catch::Contains("/etc/hostname lies in another folder"));
}

}  // namespace plimsoll::test
