#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace plimsoll::test {
namespace {

using Catch::Contains;
using nlohmann::json;

std::string machine(const std::string& parts) { return R"({"format_version": 1, "name": "desk", "parts": {)" + parts + "}}"; }

ChildEnd fit_on(const TemporaryFolder& folder, const std::string& text, const Arguments& more = {}) {
  write_file(folder.file("desk.json"), text);
  Arguments line{"fit", "gpt2", "--machine", "desk.json"};
  line.insert(line.end(), more.begin(), more.end());
  return plimsoll_in(folder, line);
}

const std::string kGpu = R"("gpus": [{"name": "RTX 2060 6GB", "pcie_generation": 3, "pcie_lanes": 8}])";

}  // namespace

TEST_CASE("a machine written by its parts and read back is the machine of the options") {
  const TemporaryFolder folder;
  const Arguments options{"--on", "RTX 2060 6GB", "--ram", "16GiB", "--ssd", "200GBx2", "--pcie", "3x8"};
  Arguments write{"machines", "-o", "desk.json"}, direct{"fit", "gpt2-xl", "--json"};
  write.insert(write.end(), options.begin(), options.end());
  direct.insert(direct.end(), options.begin(), options.end());
  REQUIRE(plimsoll_in(folder, write).code == 0);
  const json read = json::parse(plimsoll_in(folder, {"fit", "gpt2-xl", "--json", "--machine", "desk.json"}).out);
  const json expected = json::parse(plimsoll_in(folder, direct).out);
  CHECK(read["memory"] == expected["memory"]);
  CHECK(read["step_seconds"] == expected["step_seconds"]);
  CHECK(read["strategy"] == expected["strategy"]);
}

TEST_CASE("what a machine file states and plans do not use yet is said") {
  const TemporaryFolder folder;
  const ChildEnd end = fit_on(folder, machine(R"("gpus": [{"name": "RTX 3090", "numa_node": 0}, {"name": "RTX 3090", "numa_node": 1}],
    "nvlinks": [{"gpus": [0, 1], "bytes_per_second": 5e10}],
    "numa_nodes": [{"memory": "16GiB", "cores": 8}, {"memory": "16GiB", "cores": 8}])"));
  INFO(end.err);
  CHECK(end.code == 0);
  CHECK_THAT(end.out, Contains("not used yet: 1 further GPUs and 1 NVLinks") && Contains("2 NUMA nodes"));
  CHECK_THAT(end.out, Contains("30.00 GiB"));  // 2 · 16 GiB less 2 GiB left to the system
}

TEST_CASE("a machine file with parts that cannot be is refused with the place") {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::string& parts) {
    const ChildEnd end = fit_on(folder, machine(parts));
    INFO(parts << "\n" << end.out);
    CHECK(end.code == 2);
    return end.err;
  };
  CHECK_THAT(refusal(""), Contains("at least one of \"gpus\""));
  CHECK_THAT(refusal(R"("gpus": [{"name": "RTX 2O60"}])"), Contains("RTX 20"));
  CHECK_THAT(refusal(R"("gpus": [{"name": "RTX 2060 6GB", "lanes": 8}])"), Contains("lanes") && Contains("pcie_lanes"));
  CHECK_THAT(refusal(R"("gpus": [{"name": "RTX 2060 6GB", "pcie_lanes": 3}])"), Contains("3 lanes"));
  CHECK_THAT(refusal(R"("gpus": [{"name": "RTX 2060 6GB", "numa_node": 0}])"), Contains("/parts/gpus/0/numa_node"));
  CHECK_THAT(refusal(kGpu + R"(, "nvlinks": [{"gpus": [0, 1], "bytes_per_second": 1e9}])"), Contains("/parts/nvlinks/0/gpus/1"));
  CHECK_THAT(refusal(kGpu + R"(, "numa_nodes": [{"memory": "1GiB", "cores": 0}])"), Contains("none of the NUMA nodes"));
  CHECK_THAT(refusal(kGpu + R"(, "drives": [{"capacity": "1TB"}, {"capacity": "2TB"}])"), Contains("several kinds"));
  CHECK_THAT(refusal(kGpu + R"(, "drives": [{"capacity": "1TB", "queue_depth": 0}])"), Contains("/queue_depth"));
  CHECK_THAT(refusal(kGpu + R"(, "drives": [{"capacity": "1TB", "mixed_read_bytes_per_second": 1e9}])"), Contains("mixed rates"));
  CHECK_THAT(refusal(kGpu + R"(, "drives": [{"capacity": "1TB", "read_bytes_per_second": 0}])"), Contains("positive"));
}

TEST_CASE("an option beside a machine file is refused, not ignored") {
  const TemporaryFolder folder;
  const ChildEnd end = fit_on(folder, machine(kGpu), {"--ram", "16GiB"});
  CHECK(end.code == 2);
  CHECK_THAT(end.err, Contains("--ram does not go with --machine"));
  CHECK(plimsoll_in(folder, {"machines", "-o", "x.json"}).code == 2);
  CHECK(plimsoll_in(folder, {"machines", "--ram", "16GiB"}).code == 2);
}

TEST_CASE("what the probe measures is not to be stated beside it, and a machine file is asked for where --on is") {
  const TemporaryFolder folder;
  const auto refusal = [&](const Arguments& more) {
    Arguments line{"machines", "--probe"};
    line.insert(line.end(), more.begin(), more.end());
    const ChildEnd end = plimsoll_in(folder, line);
    CHECK(end.code == 2);
    return end.err;
  };
  CHECK_THAT(refusal({"--ram", "16GiB"}), Contains("--ram does not go with --probe"));
  CHECK_THAT(refusal({"--on", "RTX 2060 6GB"}), Contains("-o FILE"));
  CHECK_THAT(refusal({"--on", "RTX 2O60", "-o", "x.json"}), Contains("RTX 20"));
}

}  // namespace plimsoll::test
