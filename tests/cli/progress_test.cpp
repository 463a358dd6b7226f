#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include <sstream>

#include "tests/cli/program.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

/// The tiny run under a shell that opens descriptor 3 for it.
ChildEnd run_with_lines(const TemporaryFolder& folder, const std::string& redirect, const Arguments& more) {
  std::string command;
  for (const std::string& word : command_line(tiny_run("6", more))) command += "'" + word + "' ";
  return run_child({"/bin/sh", "-c", command + redirect}, folder.path());
}

std::vector<nlohmann::json> lines_of(const std::string& text) {
  std::vector<nlohmann::json> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

}  // namespace

TEST_CASE("progress lines tell of the plan, of every step and of the end, one JSON object a line") {
  const TemporaryFolder folder;
  const ChildEnd end = run_with_lines(folder, "3>lines.jsonl", {"--progress-fd", "3", "-q"});
  INFO(end.err);
  REQUIRE(end.code == 0);
  std::vector<int> steps;
  bool planned = false;
  const auto lines = lines_of(read_whole(folder.file("lines.jsonl")));
  for (const auto& line : lines) {
    if (line["event"] == "plan") planned = line["step_seconds"].get<double>() > 0 && !line["memory"].empty();
    if (line["event"] == "step") steps.push_back(line["step"]);
  }
  CHECK(planned);
  CHECK(steps == std::vector<int>{0, 1, 2, 3, 4, 5});
  REQUIRE_FALSE(lines.empty());
  CHECK(lines.back()["event"] == "end");
  CHECK(lines.back()["interrupted"] == false);
}

TEST_CASE("a reader of progress lines that goes away ends nothing") {
  const TemporaryFolder folder;
  std::string command = "(";
  for (const std::string& word : command_line(tiny_run("6", {"--progress-fd", "3", "-q"}))) command += "'" + word + "' ";
  run_child({"/bin/sh", "-c", command + "3>&1 >/dev/null; echo $? > code) | true"}, folder.path());
  CHECK(read_whole(folder.file("code")) == "0\n");
  const ChildEnd shown = plimsoll_in(folder, {"show", "run.plimsoll", "--json"});
  REQUIRE(shown.code == 0);
  CHECK(nlohmann::json::parse(shown.out)["finished"] == true);
}

TEST_CASE("a progress descriptor that is not open is refused by its number, before anything is written") {
  const TemporaryFolder folder;
  const ChildEnd end = plimsoll_in(folder, tiny_run("2", {"--progress-fd", "77"}));
  CHECK(end.code == 2);
  CHECK(end.err.find("--progress-fd 77") != std::string::npos);
  CHECK(files_in(folder).empty());
}

TEST_CASE("this computer is described as one JSON object that other programs read") {
  const TemporaryFolder folder;
  const ChildEnd end = plimsoll_in(folder, {"machines", "--this", "--device-memory", "64MiB", "--ram", "1GiB"});
  REQUIRE(end.code == 0);
  const auto answer = nlohmann::json::parse(end.out);
  CHECK(answer["machine"]["spaces"][0]["capacity"] == 64 * 1024 * 1024);
  CHECK(answer["probe"].is_null());
  CHECK(plimsoll_in(folder, {"machines", "--this", "--on", "RTX 2060 6GB"}).code == 2);
}
