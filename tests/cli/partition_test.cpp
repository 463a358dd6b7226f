#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace plimsoll::test {
namespace {

using nlohmann::json;

std::string layer(const std::string& name, int forward, int backward, int output, int parameters) {
  return name + " -- Linear(4, 4) -- forward_compute_time=" + std::to_string(forward) +
         ".0, backward_compute_time=" + std::to_string(backward) + ".0, activation_size=" + std::to_string(output) +
         ".0, parameter_size=" + std::to_string(parameters) + ".0\n";
}

/// Three layers of 3, 3 and 6 ms, outputs of 1000 bytes.
const std::string kProfile =
    "node0 -- Input0 -- forward_compute_time=0.0, backward_compute_time=0.0, activation_size=9.0, "
    "parameter_size=0.0\n" +
    layer("a", 1, 2, 1000, 10) + layer("b", 1, 2, 1000, 10) + layer("c", 2, 4, 1000, 10) + "\tnode0 -- a\n\ta -- b\n\tb -- c\n";

}  // namespace

TEST_CASE("partition gives stages, the slowest one's time and a bound") {
  const TemporaryFolder folder;
  write_file(folder.file("graph.txt"), kProfile);
  const ChildEnd end =
      plimsoll_in(folder, {"partition", "graph.txt", "--devices", "2", "--bandwidth", "1GB/s", "--straight", "--json"});
  INFO(end.err);
  REQUIRE(end.code == 0);
  const json answer = json::parse(end.out);
  REQUIRE(answer["stages"].size() == 2);
  CHECK(answer["stages"][0]["first"] == 0);
  CHECK(answer["stages"][0]["last"] == 1);
  CHECK(answer["stages"][1]["first"] == 2);
  CHECK(answer["stages"][1]["layers"] == json({"c"}));
  CHECK(answer["stages"][1]["replicas"] == 1);
  CHECK(answer["slowest_stage_seconds"].get<double>() == Approx(0.006));
  CHECK(answer["speedup_vs_single"].get<double>() == Approx(2));
  CHECK(answer["lower_bound_seconds"].get<double>() == Approx(0.006));
  CHECK(answer["exact"] == true);
}

TEST_CASE("partition ends with 3 and the nearest remedy when a device has too little memory") {
  const TemporaryFolder folder;
  write_file(folder.file("graph.txt"), kProfile);
  const Arguments asked{"partition", "graph.txt", "--devices", "2", "--bandwidth", "1GB/s", "--memory", "1000"};
  const ChildEnd end = plimsoll_in(folder, asked);
  CHECK(end.code == 3);
  CHECK(end.out.find("it fits with --memory") != std::string::npos);
  Arguments with_json = asked;
  with_json.push_back("--json");
  const json answer = json::parse(plimsoll_in(folder, with_json).out);
  CHECK(answer["verdict"] == "does_not_fit");
  Arguments with_more = asked;
  with_more.back() = std::to_string(answer["least_memory_bytes"].get<long>());
  CHECK(plimsoll_in(folder, with_more).code == 0);
}

TEST_CASE("partition takes levels of devices and every method, and shows levels within levels") {
  const TemporaryFolder folder;
  write_file(folder.file("graph.txt"), kProfile);
  const ChildEnd end = plimsoll_in(folder, {"partition", "graph.txt", "--devices", "2x2", "--bandwidth", "1e10,1e9", "--json"});
  INFO(end.err);
  REQUIRE(end.code == 0);
  CHECK(json::parse(end.out)["levels"][0].contains("stages"));
  for (const char* method : {"pipedream", "dnn", "alpa", "piper"}) {
    const ChildEnd one =
        plimsoll_in(folder, {"partition", "graph.txt", "--devices", "2", "--bandwidth", "1e9", "--method", method});
    INFO(method << one.err);
    CHECK(one.code == 0);
  }
  const Arguments latency{"partition", "graph.txt", "--devices", "2", "--bandwidth", "1e9", "--objective", "latency", "--json"};
  CHECK(json::parse(plimsoll_in(folder, latency).out)["objective_seconds"].get<double>() == Approx(0.004));
}

TEST_CASE("partition's errors name the file and the line, or the option that would be ignored") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& text, const Arguments& more, const std::string& word) {
    write_file(folder.file("graph.txt"), text);
    Arguments arguments{"partition", "graph.txt", "--devices", "2", "--bandwidth", "1e9"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ChildEnd end = plimsoll_in(folder, arguments);
    INFO(word << "\n" << end.err);
    CHECK(end.code == 2);
    CHECK(end.err.find(word) != std::string::npos);
  };
  refused(kProfile + "\tb -- d\n", {}, "graph.txt:8: no layer 'd' stands above");
  refused(layer("a", 1, 2, 3, 4) + "b -- Linear\n", {}, "graph.txt:2");
  refused(layer("a", 1, 2, 3, 4) + "b -- X -- forward_compute_time=soon, backward_compute_time=1\n", {}, "'soon'");
  refused(kProfile + "\tc -- a\n", {}, "graph.txt: layer 'a'");
  refused("{\"nodes\": [{\"id\": 1, \"TMPCs\": {\"2\": []}}], \"edges\": []}", {}, "/nodes/0/TMPCs");
  refused(kProfile, {"--micro-batches", "4", "--method", "dnn"}, "--micro-batches");
  refused(kProfile, {"--method", "best"}, "--method");
  refused(kProfile, {"--objective", "latency", "--method", "piper"}, "latency");
  refused(kProfile, {"--method", "dnn", "--straight"}, "--straight");
}

}  // namespace plimsoll::test
