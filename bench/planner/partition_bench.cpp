#include <benchmark/benchmark.h>

#include "formats/plans/layer_profile.h"
#include "formats/text/read_text_file.h"
#include "sim/planner/partition/piper_partition.h"
#include "sim/planner/partition/solve_partition.h"

namespace plimsoll {
namespace {

PartitionTask task_of(const std::string& name, std::vector<PartitionLevel> levels) {
  const std::string file = std::string(PLIMSOLL_PROFILE_DATA) + "/" + name;
  auto profile = read_layer_profile(*read_text_file(file, 16 * kMiB), file);
  PartitionTask task{.graph = with_plain_ways(std::move(profile->graph)), .levels = std::move(levels)};
  task.micro_batches = profile->micro_batches > 0 ? profile->micro_batches : 32;
  return task;
}

void solve(benchmark::State& state, const PartitionTask& task, PartitionMethod method) {
  for (auto _ : state) {
    const auto answer = solve_partition(task, method);
    state.counters["cuts"] = static_cast<double>(answer->cuts);
    state.counters["slowest_ms"] = 1e3 * answer->cost.slowest_seconds;
    state.counters["gap_percent"] = 100 * (answer->cost.objective / answer->lower_bound - 1);
  }
}

void register_all() {
  const auto add = [](const char* name, const PartitionTask& task, PartitionMethod method) {
    benchmark::RegisterBenchmark(name, [=](benchmark::State& state) {
      solve(state, task, method);
    })->Unit(benchmark::kMillisecond);
  };
  using enum PartitionMethod;
  add("pipedream vgg16 16", task_of("pipedream/vgg16.txt", {{16, 1.25e9}}), kPipeDream);
  add("pipedream resnet18 4x4", task_of("pipedream/resnet18.txt", {{4, 1.2e10}, {4, 1.25e9}}), kPipeDream);
  add("pipedream gnmt 16", task_of("pipedream/gnmt.txt", {{16, 1.25e9}}), kPipeDream);
  add("dnn gnmt 8", task_of("pipedream/gnmt.txt", {{8, 1e9}}), kDnn);
  add("alpa vgg16 4x4", task_of("pipedream/vgg16.txt", {{4, 1.2e10}, {4, 1.25e9}}), kAlpa);
  PartitionTask bert = task_of("piper/bert32a100.json", {{512, 25e9}});
  bert.memory = 8 * kGiB;
  add("piper bert32 512", bert, kPiper);
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  plimsoll::register_all();
  benchmark::RunSpecifiedBenchmarks();
}
