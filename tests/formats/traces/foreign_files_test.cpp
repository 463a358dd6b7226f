#include <catch2/catch.hpp>

#include <fstream>
#include <string>

#include "core/trace/operator_trace.h"
#include "formats/models/onnx_file.h"
#include "formats/traces/read_memory_snapshot.h"
#include "formats/traces/read_operators.h"
#include "formats/traces/read_recording.h"
#include "tests/support/onnx_writer.h"
#include "tests/support/pickle_writer.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll::test {
namespace {

std::string written(const TemporaryFolder& folder, const std::string& name, const std::string& bytes) {
  std::ofstream(folder.file(name), std::ios::binary) << bytes;
  return folder.file(name);
}

WireWriter flag(const std::string& name, bool value) { return WireWriter().text(1, name).number(27, value ? 1 : 0); }

/// A node of Chakra's schema: id, name, type, what it waits for, how long it takes, whether the host runs it.
WireWriter chakra_node(std::uint64_t id, const std::string& name, int type, const std::vector<std::uint64_t>& after, std::uint64_t micros,
                       bool host) {
  WireWriter node;
  node.number(1, id).text(2, name).number(3, static_cast<std::uint64_t>(type)).packed(5, after).number(7, micros);
  return node.message(10, flag("is_cpu_op", host));
}

std::string small_chakra() {
  WireWriter file;
  file.delimited(WireWriter().text(1, "0.0.4"));
  WireWriter reduce = chakra_node(9, "all_reduce", 7, {7}, 5, false);
  reduce.message(10, WireWriter().text(1, "comm_size").number(9, 64));
  file.delimited(chakra_node(7, "launch", 4, {}, 10, true)).delimited(chakra_node(8, "gemm", 4, {7}, 20, false)).delimited(reduce);
  return file.delimited(chakra_node(11, "add", 4, {8, 9, 77}, 30, false)).bytes;
}

}  // namespace

TEST_CASE("a Chakra trace's nodes come with their sorts, durations and dependencies; a missing one is counted") {
  const TemporaryFolder folder;
  const auto trace = read_operators(written(folder, "a.0.et", small_chakra()));
  REQUIRE(trace);
  CHECK(trace->source == "Chakra trace 0.0.4");
  REQUIRE(trace->nodes.size() == 4);
  CHECK(trace->nodes[0].on_host);
  CHECK(trace->nodes[2].sort == OperatorSort::kCollective);
  CHECK(trace->nodes[2].bytes == 64);
  CHECK(trace->nodes[3].after == std::vector<std::uint32_t>{1, 2});
  CHECK(trace->nodes[3].duration == Nanoseconds(30'000));
  REQUIRE(trace->losses.size() == 1);
  CHECK(trace->losses[0].count == 1);
}

TEST_CASE("a Chakra trace that is cut off anywhere is an error, or ends between two nodes") {
  const TemporaryFolder folder;
  const std::string whole = small_chakra();
  std::size_t ends = 0;
  for (std::size_t size = 8; size < whole.size(); ++size) {
    const auto trace = read_operators(written(folder, "cut.et", whole.substr(0, size)));
    ends += trace.has_value();
    if (!trace) CHECK_FALSE(trace.error().what.empty());
  }
  CHECK(ends == 4);  // behind the metadata and behind each node but the last
}

TEST_CASE("Chakra's JSON says the same as its protocol buffers") {
  const TemporaryFolder folder;
  const auto trace = read_operators(written(folder, "a.json", R"({"workload_graph":[
    {"Id":7,"Name":"launch","NodeType":4,"data_deps":[],"runtime":10,"is_cpu_op":true},
    {"Id":9,"Name":"all_reduce","NodeType":7,"ctrlDeps":[3],"data_deps":[7],"runtime":5.5,"is_cpu_op":false}]})"));
  REQUIRE(trace);
  REQUIRE(trace->nodes.size() == 2);
  CHECK(trace->nodes[1].sort == OperatorSort::kCollective);
  CHECK_FALSE(trace->nodes[1].on_host);
  CHECK(trace->nodes[1].duration == Nanoseconds(5'500));
  CHECK(trace->nodes[1].after == std::vector<std::uint32_t>{0});
}

TEST_CASE("storages of a PyTorch execution trace live from the node that makes them to the last that names them") {
  // Weights: 1000 floats, 4000 bytes, there before. Node 2 makes 10 floats (40 bytes), node 3 reads them and makes 20 (80 bytes), node
  // 4 reads these. In use: 4040 at node 2, 4120 at node 3, 4080 at node 4.
  const TemporaryFolder folder;
  const auto trace = read_operators(written(folder, "et.json", R"x({"schema":"1.1.1-chakra.0.0.4","pid":1,"nodes":[
    {"id":4,"name":"aten::relu","ctrl_deps":1,"inputs":{"values":[[13,33,0,20,4,"cpu"]],"shapes":[[20]],"types":["Tensor(float)"]},"outputs":{"values":[]},"attrs":[]},
    {"id":2,"name":"aten::mm","ctrl_deps":1,"inputs":{"values":[[5,31,0,1000,4,"cpu"],[2,[3]]]},"outputs":{"values":[[12,32,0,10,4,"cpu"]]},
     "attrs":[{"name":"rf_id","type":"uint64","value":1},{"name":"tid","type":"uint64","value":3}]},
    {"id":3,"name":"aten::add","parent":1,"inputs":[[12,32,0,10,4,"cpu"]],"outputs":[[13,33,0,20,4,"cpu"]]}]})x"));
  REQUIRE(trace);
  CHECK(trace->nodes[0].lane == 3);
  CHECK_FALSE(trace->timed());
  const auto peaks = storage_peaks(*trace);
  REQUIRE(peaks.size() == 1);
  CHECK(peaks[0].storages == 3);
  CHECK(peaks[0].there_before == 4000);
  CHECK(peaks[0].peak == 4120);
  CHECK(peaks[0].at == 1);
}

TEST_CASE("a duration of a Chrome trace that is no number is none, and is counted") {
  const TemporaryFolder folder;
  for (const char* duration : {R"(,"dur":NaN)", R"(,"dur":-Infinity)", R"(,"dur":null)", R"(,"dur":[1])", ""}) {
    INFO(duration);
    std::ofstream(folder.file("a.json")) << R"([{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":5)" << duration << "}]";
    const auto recording = read_recording(folder.file("a.json"));
    REQUIRE(recording);
    REQUIRE(recording->work.size() == 1);
    CHECK(recording->work[0].end == recording->work[0].start);
    REQUIRE(recording->losses.size() == 1);
    CHECK(recording->losses[0].what == "durations of events that are missing or no numbers");
    CHECK(recording->losses[0].count == 1);
  }
}

TEST_CASE("a trace that cannot be opened is not taken for an empty or a missing one") {
  const TemporaryFolder folder;
  const auto said = [](const std::string& path) { return read_recording(path).error().what; };
  CHECK(said(folder.file("none.json")) == "the file cannot be opened: No such file or directory");
  CHECK(said(folder.path()) == "not a regular file");
  std::ofstream(folder.file("empty.json")).flush();
  CHECK(said(folder.file("empty.json")) == "an empty file");
}

TEST_CASE("a start of a Chrome trace that is no number is refused in its own words") {
  const TemporaryFolder folder;
  const auto said = [&](const char* start) {
    std::ofstream(folder.file("a.json")) << R"([{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7)" << start << R"(,"dur":5}])";
    const auto recording = read_recording(folder.file("a.json"));
    REQUIRE_FALSE(recording);
    return recording.error().what;
  };
  CHECK(said(R"(,"ts":NaN)") == "the event 'k' has NaN for a time (\"ts\")");
  CHECK(said(R"(,"ts":nan)") == "the event 'k' has nan for a time (\"ts\")");
  CHECK(said(R"(,"ts":-Infinity)") == "the event 'k' has Infinity for a time (\"ts\")");
  CHECK(said(R"(,"ts":null)") == "the event 'k' has null for a time (\"ts\")");
  CHECK(said(R"(,"ts":[1])") == "the event 'k' has no time (\"ts\")");
  CHECK(said("") == "the event 'k' has no time (\"ts\")");
  CHECK(said(R"(,"ts":"soon")") == "the time 'soon' is no number of microseconds");
}

TEST_CASE("a memory snapshot's history becomes allocations with what was reserved after each") {
  const TemporaryFolder folder;
  const std::string path = written(folder, "snapshot.pickle",
                                   snapshot_file({history_entry("segment_alloc", 4096, 2 << 20, 10), history_entry("alloc", 4096, 1000, 11),
                                                  history_entry("free_requested", 4096, 1000, 15),
                                                  history_entry("free_completed", 4096, 1000, 16)}));
  const auto recording = read_recording(path);
  REQUIRE(recording);
  REQUIRE(recording->allocations.size() == 2);
  CHECK(recording->allocations[0].bytes == 1000);
  CHECK(recording->allocations[0].reserved == 2 << 20);
  CHECK(recording->allocations[1].bytes == -1000);
  CHECK(recording->allocations[1].allocated == 0);
  CHECK(recording->allocations[1].time == Nanoseconds(5'000));
}

TEST_CASE("sizes that no device has are cut to 16 TiB and counted, in any number of segments and entries") {
  const TemporaryFolder folder;
  const std::string block = pickled_dict({{"size", pickled(INT64_MIN)}, {"state", pickled("active_allocated")}});
  const std::string segment = pickled_dict({{"total_size", pickled(INT64_MAX)}, {"blocks", pickled_list({block})}});
  const std::string history = pickled_list({history_entry("alloc", 1, INT64_MAX, 10), history_entry("free", 1, -5, 11)});
  const auto recording = read_memory_snapshot(
      written(folder, "snapshot.pickle", pickle_file(pickled_dict({{"segments", pickled_list({segment, segment, segment})},
                                                                   {"device_traces", pickled_list({history})}}))));
  REQUIRE(recording);
  REQUIRE(recording->allocations.size() == 2);
  CHECK(recording->allocations[0].bytes == std::int64_t{1} << 44);
  CHECK(recording->allocations[0].reserved == std::int64_t{3} << 44);
  REQUIRE(recording->losses.size() == 1);
  CHECK(recording->losses[0].count == 8);  // three segments, their blocks, two entries
}

TEST_CASE("a pickle that names a class is refused, and so is one that is cut off") {
  const TemporaryFolder folder;
  const auto hostile = read_memory_snapshot(written(folder, "a.pickle", std::string("\x80\x02", 2) + "cos\nsystem\n(S'true'\ntR."));
  REQUIRE_FALSE(hostile);
  CHECK(hostile.error().what.find("never done here") != std::string::npos);
  const std::string whole = snapshot_file({history_entry("alloc", 1, 2, 3)});
  for (std::size_t size = 0; size < whole.size(); ++size)
    CHECK_FALSE(read_memory_snapshot(written(folder, "b.pickle", whole.substr(0, size))));
}

TEST_CASE("an ONNX file's graph is read without its weights") {
  const TemporaryFolder folder;
  const auto graph = read_onnx(written(folder, "mlp.onnx", small_mlp().bytes));
  REQUIRE(graph);
  CHECK(graph->producer == "hand 1");
  CHECK(graph->opset == 20);
  REQUIRE(graph->nodes.size() == 3);
  CHECK(graph->nodes[0].op == "Gemm");
  CHECK(graph->nodes[0].whole("transB", 0) == 1);
  CHECK(graph->constants.at("w1").dims == std::vector<std::int64_t>{16, 8});
  REQUIRE(graph->inputs.size() == 1);
  CHECK(graph->inputs[0].dims == std::vector<std::int64_t>{2, 8});
}

TEST_CASE("an ONNX file that is cut off anywhere is refused with the byte") {
  const TemporaryFolder folder;
  const std::string whole = small_mlp().bytes;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto graph = read_onnx(written(folder, "cut.onnx", whole.substr(0, size)));
    INFO(size);
    REQUIRE_FALSE(graph);
    CHECK(graph.error().where.find("byte") != std::string::npos);
  }
}

}  // namespace plimsoll::test
