#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace plimsoll::test {
namespace {

using nlohmann::json;

/// Three equal blocks: inputs of 2 bytes, 5 bytes saved, each pass a second. 9, 11, 14 and 17 bytes take 9, 8, 7 and 6
/// seconds.
json three_blocks() {
  const json option{{"forward_seconds", 1},
                    {"backward_seconds", 1},
                    {"saved_bytes", 5},
                    {"forward_temporary_bytes", 0},
                    {"backward_temporary_bytes", 0}};
  const json block{
      {"input_bytes", 2}, {"forward_only_seconds", 1}, {"forward_only_temporary_bytes", 0}, {"options", {option}}};
  return {{"format_version", 1}, {"output_bytes", 2}, {"blocks", {block, block, block}}};
}

}  // namespace

TEST_CASE("recompute gives the fastest schedule within a budget, its bound and the older rules") {
  const TemporaryFolder folder;
  write_file(folder.file("chain.json"), three_blocks().dump());
  const ChildEnd end = plimsoll_in(folder, {"recompute", "chain.json", "--budget", "14", "--json", "--curve"});
  INFO(end.err);
  REQUIRE(end.code == 0);
  const json answer = json::parse(end.out);
  CHECK(answer["feasible"] == true);
  CHECK(answer["time"] == 7.0);
  CHECK(answer["peak_bytes"] == 14);
  CHECK(answer["lower_bound"] <= 7.0);
  CHECK(answer["exact"] == true);
  CHECK(answer["schedule"][0] == "save 0 by option 0");
  CHECK(answer["schedule"].size() == 7);
  CHECK(answer["baselines"].size() == 3);
  CHECK(answer["curve"] == json({{9, 9.0}, {11, 8.0}, {14, 7.0}, {17, 6.0}}));
  CHECK(plimsoll_in(folder, {"recompute", "chain.json", "--budget", "20", "--curve"}).out ==
        "bytes,seconds\n9,9\n11,8\n14,7\n17,6\n");
}

TEST_CASE("recompute ends with 3 and tells the least memory when nothing fits") {
  const TemporaryFolder folder;
  write_file(folder.file("chain.json"), three_blocks().dump());
  const ChildEnd end = plimsoll_in(folder, {"recompute", "chain.json", "--budget", "8", "--json", "--save", "s.json"});
  CHECK(end.code == 3);
  const json answer = json::parse(end.out);
  CHECK(answer["feasible"] == false);
  CHECK(answer["time"].is_null());
  CHECK(answer["schedule"].empty());
  CHECK(answer["minimum_bytes"] == 9);
  CHECK(files_in(folder) == std::vector<std::string>{"chain.json"});
  CHECK(plimsoll_in(folder, {"recompute", "chain.json", "--budget", "8"}).out.find("the least is 9 bytes") !=
        std::string::npos);
}

TEST_CASE("recompute saves a schedule, but not over its chain or another kind of file") {
  const TemporaryFolder folder;
  const std::string chain = three_blocks().dump();
  write_file(folder.file("chain.json"), chain);
  CHECK(plimsoll_in(folder, {"recompute", "chain.json", "--budget", "9", "--save", "s.json"}).code == 0);
  CHECK(json::parse(read_whole(folder.file("s.json")))["schedule"].size() == 9);
  const ChildEnd itself = plimsoll_in(folder, {"recompute", "chain.json", "--budget", "9", "--save", "chain.json"});
  CHECK(itself.code == 2);
  CHECK(read_whole(folder.file("chain.json")) == chain);
  write_file(folder.file("notes.txt"), "dear diary\n");
  CHECK(plimsoll_in(folder, {"recompute", "chain.json", "--budget", "9", "--save", "notes.txt"}).code == 2);
  CHECK(read_whole(folder.file("notes.txt")) == "dear diary\n");
}

TEST_CASE("recompute's errors name the file and the key") {
  const TemporaryFolder folder;
  json chain = three_blocks();
  chain["blocks"][1]["options"][0].erase("saved_bytes");
  write_file(folder.file("chain.json"), chain.dump());
  const ChildEnd end = plimsoll_in(folder, {"recompute", "chain.json", "--budget", "9"});
  CHECK(end.code == 2);
  CHECK(end.err.find("chain.json at /blocks/1/options/0") != std::string::npos);
  CHECK(end.err.find("\"saved_bytes\" is missing") != std::string::npos);
  CHECK(plimsoll_in(folder, {"recompute", "absent.json", "--budget", "9"}).code == 2);
  CHECK(plimsoll_in(folder, {"recompute", "chain.json", "--budget", "much"}).code == 2);
}

TEST_CASE("recompute takes a log of operators: what is run again, its bound and DTR's heuristics beside it") {
  // a (10 ns, 4 bytes) is read by b and by d; while c is made 12 bytes are there. In 11, a is made again: 23 ns for 13.
  const TemporaryFolder folder;
  std::string log;
  const auto call = [&](const std::string& name, const json& arguments, int bytes, int time) {
    const json line{{"INSTRUCTION", "CALL"}, {"NAME", "make"}, {"ARGS", arguments}, {"RESULT", {name}}, {"TIME", time}};
    log += line.dump() + "\n";
    log += json{{"INSTRUCTION", "MEMORY"}, {"NAME", name}, {"MEMORY", std::to_string(bytes)}}.dump() + "\n";
    log += json{{"INSTRUCTION", "ALIAS"}, {"NAME", name}, {"ALIAS", "-1"}}.dump() + "\n";
  };
  call("a", json::array(), 4, 10);
  call("b", {"a"}, 4, 1);
  call("c", {"b"}, 4, 1);
  call("d", {"a", "c"}, 1, 1);
  for (const char* name : {"a", "b", "c"}) log += json{{"INSTRUCTION", "RELEASE"}, {"NAME", name}}.dump() + "\n";
  write_file(folder.file("ops.log"), log);
  const ChildEnd end = plimsoll_in(folder, {"recompute", "ops.log", "--budget", "11", "--json", "--save", "s.json"});
  INFO(end.err);
  REQUIRE(end.code == 0);
  const json answer = json::parse(end.out);
  CHECK(answer["time"].get<double>() == Approx(23e-9));
  CHECK(answer["minimum_time"].get<double>() == Approx(13e-9));
  CHECK(answer["lower_bound"].get<double>() <= 23e-9);
  CHECK(answer["peak_bytes"] == 9);
  CHECK(answer["runs_again"] == 1);
  CHECK(answer["least_bytes"] == 9);
  CHECK(answer["baselines"].size() == 6);
  CHECK(answer["schedule"][0] == "run 0 make");
  CHECK(std::filesystem::exists(folder.file("s.json")));
  CHECK(plimsoll_in(folder, {"recompute", "ops.log", "--budget", "8"}).code == 3);
  CHECK_THAT(plimsoll_in(folder, {"recompute", "ops.log", "--budget", "11"}).out, Catch::Contains("dtr-eq"));
  CHECK(plimsoll_in(folder, {"recompute", "ops.log", "--budget", "11", "--curve"}).code == 2);
}

}  // namespace plimsoll::test
