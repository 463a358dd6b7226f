// A minute of changed execution traces, memory snapshots and ONNX models for every build: seeds are small files of each format, changes
// are drawn with a fixed seed. A reader may say no; a crash or an exception other than its own ends the process.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "formats/models/onnx_file.h"
#include "formats/traces/read_memory_snapshot.h"
#include "formats/traces/read_operators.h"
#include "sim/memory/replay_allocations.h"
#include "sim/replay/operator_schedule.h"
#include "sim/stack/nets/onnx_net.h"
#include "tests/support/onnx_writer.h"
#include "tests/support/pickle_writer.h"
#include "tests/support/temporary_folder.h"

namespace {

using namespace plimsoll;

std::string chakra_seed() {
  test::WireWriter file;
  file.delimited(test::WireWriter().text(1, "0.0.4"));
  for (std::uint64_t id = 1; id < 6; ++id) {
    test::WireWriter node;
    node.number(1, id).text(2, "node").number(3, 3 + id % 5).packed(5, {id - 1}).number(7, 10 * id);
    node.message(8, test::WireWriter().text(1, "[[4, 5, 0, 64, 4, 'cuda:0']]"));
    file.delimited(node.message(10, test::WireWriter().text(1, "is_cpu_op").number(27, id % 2)));
  }
  return file.bytes;
}

std::string json_seed() {
  return R"({"schema":"1.1.1","nodes":[{"id":2,"name":"aten::mm","ctrl_deps":1,"inputs":{"values":[[5,31,0,1000,4,"cpu"],[2,[3]]]},
"outputs":{"values":[[12,32,0,10,4,"cpu"]]},"attrs":[{"name":"tid","type":"uint64","value":3}]},
{"id":3,"name":"a","data_deps":[2],"runtime":5,"is_cpu_op":false,"inputs":[],"outputs":[]}]})";
}

std::string changed(std::string bytes, std::mt19937_64& random) {
  const auto draw = [&](std::size_t below) { return below == 0 ? 0 : static_cast<std::size_t>(random() % below); };
  for (std::size_t changes = 1 + draw(4); changes > 0 && !bytes.empty(); --changes) {
    const std::size_t at = draw(bytes.size());
    switch (draw(6)) {
      case 0: bytes[at] = static_cast<char>(random()); break;
      case 1: bytes.erase(at, 1 + draw(16)); break;
      case 2: bytes.insert(at, std::string(1 + draw(10), '\xff')); break;
      case 3: bytes.insert(at, bytes.substr(draw(bytes.size()), draw(128))); break;
      case 4: bytes[at] = static_cast<char>(draw(2) == 0 ? 0x7f : 0x80); break;
      default: bytes.resize(at); break;
    }
  }
  return bytes;
}

void read_all(const std::string& path) {
  if (const auto trace = read_operators(path)) {
    storage_peaks(*trace);
    static_cast<void>(schedule_operators(*trace));
  }
  if (const auto recording = read_memory_snapshot(path)) static_cast<void>(replay_allocations(*recording));
  if (auto graph = read_onnx(path)) static_cast<void>(onnx_maker(std::make_shared<const OnnxGraph>(std::move(*graph)), {}));
}

}  // namespace

int main(int count, char** arguments) {
  const double seconds = count > 1 ? std::atof(arguments[1]) : 60;
  const TemporaryFolder folder;
  const std::vector<std::string> seeds{
      chakra_seed(), json_seed(), test::small_mlp().bytes, test::small_attention().bytes,
      test::snapshot_file({test::history_entry("segment_alloc", 4096, 2 << 20, 10), test::history_entry("alloc", 4096, 1000, 11),
                           test::history_entry("free_completed", 4096, 1000, 16)})};
  std::mt19937_64 random(20260101);
  const auto begin = std::chrono::steady_clock::now();
  std::size_t rounds = 0;
  for (; std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < seconds; ++rounds) {
    const std::string bytes = changed(seeds[rounds % seeds.size()], random);
    std::ofstream(folder.file("last"), std::ios::binary) << bytes;  // what ended the process, if one does
    read_all(folder.file("last"));
  }
  std::printf("%zu changed files in %.0f s\n", rounds, seconds);
  return 0;
}
