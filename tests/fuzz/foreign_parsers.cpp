// Readers of what other programs write: execution traces, snapshots of PyTorch's memory, ONNX models, step graphs, and databases
// in which somebody changed rows or tables.

#include <memory>

#include "formats/graphs/step_graph.h"
#include "formats/models/onnx_file.h"
#include "formats/traces/read_memory_snapshot.h"
#include "formats/traces/read_operator_log.h"
#include "formats/traces/read_operators.h"
#include "formats/traces/read_recording.h"
#include "sim/memory/replay_allocations.h"
#include "sim/replay/operator_schedule.h"
#include "sim/stack/nets/onnx_net.h"
#include "tests/fuzz/changed_database.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/parser.h"

namespace plimsoll::test {
namespace {

void read_execution_trace(std::string_view bytes) {
  const MemoryFile file(bytes);
  const auto trace = read_operators(file.path());
  if (!has_value(trace)) return;
  static_cast<void>(storage_peaks(*trace));
  static_cast<void>(has_value(schedule_operators(*trace)));
}

void read_log_of_operators(std::string_view bytes) {
  const auto graph = read_operator_log(bytes, "operators.log");
  if (!has_value(graph)) return;
  require(graph->base_time().count >= 0 && graph->events.size() >= graph->operators.size(), "every operator of a log runs");
}

void read_snapshot(std::string_view bytes) {
  const MemoryFile file(bytes);
  const auto recording = read_memory_snapshot(file.path());
  if (has_value(recording)) static_cast<void>(has_value(replay_allocations(*recording)));
}

void read_net(std::string_view bytes) {
  const MemoryFile file(bytes);
  auto graph = read_onnx(file.path());
  if (!has_value(graph)) return;
  static_cast<void>(has_value(onnx_maker(std::make_shared<const OnnxGraph>(std::move(*graph)), {})));
}

void read_graph(std::string_view bytes) {
  const auto graph = read_step_graph(bytes, "graph.json");
  if (has_value(graph)) require(graph->parameter_count() >= 0, "a graph counts its parameters");
}

/// An export of Nsight Systems: the bytes are SQL, carried out on an empty database before it is read.
void read_nsight_sql(std::string_view bytes) {
  static const std::string empty;
  static const ChangedDatabase database;
  const auto recording = read_recording(database.after(empty, bytes));
  if (has_value(recording)) check_recording(*recording);
}

}  // namespace

std::vector<Parser> foreign_parsers() {
  return {{"operators", read_execution_trace}, {"memory-snapshot", read_snapshot}, {"onnx", read_net},
          {"step-graph", read_graph},          {"nsight-sql", read_nsight_sql}, {"operator-log", read_log_of_operators}};
}

}  // namespace plimsoll::test
