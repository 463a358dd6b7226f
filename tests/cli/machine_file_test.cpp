#include <catch2/catch.hpp>
#include <algorithm>
#include <fstream>
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

json content_of(const TemporaryFolder& folder, const std::string& name) {
  std::ifstream file(folder.file(name));
  return json::parse(file);
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

TEST_CASE("a drive that reaches the GPU is written by its key, read back as the option says, and told in the plan's file") {
  const TemporaryFolder folder;
  const Arguments options{"--on", "A100 80GB SXM", "--ram", "16GiB", "--ssd", "800GB", "--direct-storage"};
  Arguments write{"machines", "-o", "desk.json"}, plan{"plan", "gpt2", "--strategy", "stream-ssd", "-o", "plan.json"};
  for (Arguments* line : {&write, &plan}) line->insert(line->end(), options.begin(), options.end());
  REQUIRE(plimsoll_in(folder, write).code == 0);
  CHECK(content_of(folder, "desk.json")["parts"]["drives"][0]["reaches_gpu"] == true);
  const ChildEnd planned = plimsoll_in(folder, plan);
  INFO(planned.err);
  REQUIRE(planned.code == 0);
  const ChildEnd again = plimsoll_in(folder, {"plan", "gpt2", "--strategy", "stream-ssd", "-o", "again.json", "--machine", "desk.json"});
  INFO(again.err);
  REQUIRE(again.code == 0);
  const json one = content_of(folder, "plan.json"), other = content_of(folder, "again.json");
  const auto direct = [](const json& links) {
    return std::count_if(links.begin(), links.end(), [](const json& link) { return link["name"] == "ssd->gpu0" || link["name"] == "gpu0->ssd"; });
  };
  CHECK(direct(one["platform"]["links"]) == 2);
  CHECK(one["platform"]["links"] == other["platform"]["links"]);
  CHECK(one["bodies"] == other["bodies"]);
  CHECK(plimsoll_in(folder, {"validate", "plan.json"}).code == 0);
  CHECK(plimsoll_in(folder, {"simulate", "plan.json"}).code == 0);
  const ChildEnd twice = plimsoll_in(folder, {"fit", "gpt2", "--machine", "desk.json", "--direct-storage"});
  CHECK(twice.code == 2);
  CHECK_THAT(twice.err, Contains("--direct-storage does not go with --machine"));
  const ChildEnd no_drive = plimsoll_in(folder, {"fit", "gpt2", "--on", "A100 80GB SXM", "--direct-storage"});
  CHECK(no_drive.code == 2);
  CHECK_THAT(no_drive.err, Contains("there is no drive") && Contains("--ssd"));
}

TEST_CASE("a run whose drive reaches the device has bit for bit the losses of one through host memory, and a plan's file says which it is") {
  const TemporaryFolder folder;
  const auto losses = [&](const Arguments& more) {
    Arguments line{"run", kTinyModel, "--data", kText, "--steps", "6", "--device-memory", "16MiB", "--ram", "64MiB", "--ssd", "128MiB:3,2",
                   "--strategy", "stream-ssd", "--matmul", "openblas", "--json", "--quiet", "--force", "-o", "run.plimsoll"};
    line.insert(line.end(), more.begin(), more.end());
    const ChildEnd end = plimsoll_in(folder, line);
    INFO(end.err);
    REQUIRE(end.code == 0);
    return json::parse(end.out)["losses"];
  };
  CHECK(losses({"--direct-storage"}) == losses({}));
}

TEST_CASE("direct storage is refused where nothing uses it") {
  const TemporaryFolder folder;
  const Arguments machine{"--on", "A100 80GB SXM", "--ssd", "1TB", "--direct-storage"};
  const auto refusal = [&](Arguments line) {
    line.insert(line.end(), machine.begin(), machine.end());
    const ChildEnd end = plimsoll_in(folder, line);
    INFO(end.out);
    CHECK(end.code == 2);
    return end.err;
  };
  CHECK_THAT(refusal({"fit", "gpt2", "--stack", "pytorch"}), Contains("--direct-storage"));
  CHECK_THAT(refusal({"fit", "gpt2", "--workload", "inference"}), Contains("--direct-storage"));
  CHECK_THAT(refusal({"fit", "gpt2", "--gpus", "8"}), Contains("--direct-storage"));
  CHECK_THAT(refusal({"fit", "gpt2", "--os", "windows"}), Contains("windows"));
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
