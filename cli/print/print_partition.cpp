#include "cli/print/print_partition.h"

#include <fmt/format.h>

#include "formats/text/json_text.h"

namespace plimsoll {
namespace {

std::string names_json(const PartitionTask& task, const std::vector<LayerId>& layers) {
  std::vector<std::string> names;
  for (const LayerId layer : layers) names.push_back(json_quote(task.graph.layers[layer.index].name));
  return json_list(names);
}

/// How each layer runs, as its profile names it.
std::string ways_json(const PartitionTask& task, const PartitionStage& stage) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < stage.ways.size(); ++i) {
    const auto& ways = task.graph.layers[stage.layers[i].index].ways;
    names.push_back(json_quote(ways[stage.ways[i]].name));
  }
  return json_list(names);
}

std::string stages_json(const PartitionTask& task, const PartitionAnswer& answer) {
  std::vector<std::string> items;
  std::int64_t first = 0;
  const auto leaves = leaves_of(*answer.best);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const PartitionStage& stage = *leaves[i].stage;
    const PartitionStageCost& cost = answer.cost.stages[i];
    const std::int64_t last = first + static_cast<std::int64_t>(stage.layers.size()) - 1;
    JsonLine line;
    line.integer("first", first).integer("last", last);
    line.integer("replicas", static_cast<std::int64_t>(leaves[i].replicas)).number("seconds", cost.seconds);
    line.integer("tensor_degree", static_cast<std::int64_t>(stage.degree));
    line.number("compute_seconds", cost.compute_seconds).number("sync_seconds", cost.sync_seconds);
    line.number("transfer_seconds", cost.transfer_seconds).integer("memory_bytes", cost.memory.count);
    line.raw("layers", names_json(task, stage.layers));
    if (!stage.ways.empty()) line.raw("ways", ways_json(task, stage));
    items.push_back(line.str());
    first = last + 1;
  }
  return json_list(items);
}

/// Stages of one level within another: "[0, 16] x 3", with what is inside.
std::string nested_json(const std::vector<PartitionStage>& stages, std::int64_t first) {
  std::vector<std::string> items;
  for (const PartitionStage& stage : stages) {
    const std::int64_t last = first + static_cast<std::int64_t>(stage.layers.size()) - 1;
    JsonLine line;
    line.integer("first", first).integer("last", last).integer("replicas", static_cast<std::int64_t>(stage.replicas));
    if (!stage.inner.empty()) line.raw("stages", nested_json(stage.inner, first));
    items.push_back(line.str());
    first = last + 1;
  }
  return json_list(items);
}

double gap_of(const PartitionAnswer& answer) {
  return answer.lower_bound > 0 ? answer.cost.objective / answer.lower_bound - 1 : 0;
}

std::string layer_range(const PartitionTask& task, const std::vector<LayerId>& layers) {
  const std::string& first = task.graph.layers[layers.front().index].name;
  const std::string& last = task.graph.layers[layers.back().index].name;
  return layers.size() == 1 ? first : fmt::format("{} … {}", first, last);
}

std::string time_text(double seconds) { return to_text(from_seconds(seconds)); }

void print_refusal(const std::string& file, const PartitionTask& task, const PartitionAnswer& answer) {
  fmt::print("{} does not fit on {} devices of {} by {}\n", file, task.devices(), to_text(*task.memory), to_text(answer.method));
  if (answer.least_memory) {
    fmt::print("  it fits with --memory {} ({} a device)\n", answer.least_memory->count, to_text(*answer.least_memory));
  }
  if (answer.enough_devices) {
    fmt::print("  it fits with {} devices{}\n", *answer.enough_devices, task.levels.size() > 1 ? " at the outermost level" : "");
  }
}

const char* objective_text(const PartitionTask& task, PartitionMethod method) {
  if (method == PartitionMethod::kAlpa) return "one batch";
  return task.latency ? "one sample's forward" : "slowest stage";
}

}  // namespace

std::string partition_json(const PartitionTask& task, const PartitionAnswer& answer) {
  JsonLine line;
  line.integer("format_version", 1).text("verdict", answer.best ? "fits" : "does_not_fit");
  if (!answer.best) {
    line.text("method", to_text(answer.method)).raw("stages", "[]").raw("slowest_stage_seconds", "null");
    line.raw("speedup_vs_single", "null");
    line.raw("least_memory_bytes", answer.least_memory ? std::to_string(answer.least_memory->count) : "null");
    line.raw("enough_devices", answer.enough_devices ? std::to_string(*answer.enough_devices) : "null");
    return line.str();
  }
  line.raw("stages", stages_json(task, answer)).number("slowest_stage_seconds", answer.cost.slowest_seconds);
  line.number("speedup_vs_single", answer.single_seconds / answer.cost.slowest_seconds);
  line.text("method", to_text(answer.method)).number("single_device_seconds", answer.single_seconds);
  line.number("data_parallel_speedup", answer.single_seconds / answer.data_parallel_seconds);
  line.number("objective_seconds", answer.cost.objective).number("lower_bound_seconds", answer.lower_bound);
  line.number("gap", gap_of(answer)).flag("exact", answer.best->exact);
  line.integer("peak_bytes", answer.cost.memory.count).integer("cuts", static_cast<std::int64_t>(answer.cuts));
  line.flag("all_cuts", answer.all_cuts);
  if (task.levels.size() > 1) line.raw("levels", nested_json(answer.best->stages, 0));
  return line.str();
}

void print_partition(const std::string& file, const PartitionTask& task, const PartitionAnswer& answer) {
  if (!answer.best) return print_refusal(file, task, answer);
  const auto leaves = leaves_of(*answer.best);
  std::size_t devices = 0;
  for (const PartitionLeaf& leaf : leaves) devices += leaf.replicas * leaf.stage->degree;
  fmt::print("{} on {} of {} devices by {}: {} stages, {:.2f} times one device\n", file, devices, task.devices(),
             to_text(answer.method), leaves.size(), answer.single_seconds / answer.cost.slowest_seconds);
  fmt::print("  {:<20} {}, {:.1f} % above {}, which no assignment is below\n", objective_text(task, answer.method),
             time_text(answer.cost.objective), 100 * gap_of(answer), time_text(answer.lower_bound));
  fmt::print("  {:<20} {:.2f} times one device\n", "replicas only", answer.single_seconds / answer.data_parallel_seconds);
  fmt::print("  {:>5} {:>9} {:>7} {:>11} {:>11} {:>11}   layers\n", "stage", "replicas", "tensor", "time", "transfer", "memory");
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const PartitionStageCost& cost = answer.cost.stages[i];
    fmt::print("  {:>5} {:>9} {:>7} {:>11} {:>11} {:>11}   {}\n", i, leaves[i].replicas, leaves[i].stage->degree,
               time_text(cost.seconds), time_text(cost.transfer_seconds), to_text(cost.memory),
               layer_range(task, leaves[i].stage->layers));
  }
  if (!answer.all_cuts) fmt::print("  cuts of one order of the layers only, of those that the graph's branches allow\n");
  fmt::print("  {}\n", answer.best->exact ? "the best by this method's model (docs/partition.md)" : "not proven the best");
}

}  // namespace plimsoll
