#include "sim/planner/partition/solve_partition.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/planner/partition/alpa_partition.h"
#include "sim/planner/partition/dnn_partition.h"
#include "sim/planner/partition/partition_bound.h"
#include "sim/planner/partition/pipedream_partition.h"
#include "sim/planner/partition/piper_partition.h"
#include "sim/planner/partition/verify_partition.h"

namespace plimsoll {
namespace {

/// Cuts that the method's tables have room for.
IdealLimits limits_of(const PartitionTask& task, PartitionMethod method) {
  const std::size_t devices = task.devices();
  if (method == PartitionMethod::kAlpa) return {.most = 0, .most_pairs = 0};
  if (method == PartitionMethod::kDnn) return {.most = task.latency ? 3000u : 20'000u};
  if (method == PartitionMethod::kPiper) return {.most = 20'000'000 / (devices + 1), .most_pairs = 1'000'000};
  if (task.levels.size() == 1) return {.most = 4000, .most_pairs = 200'000'000 / (devices * devices)};
  return {.most = 600, .most_pairs = 200'000};
}

std::optional<Partition> best_of(const PartitionTask& task, PartitionMethod method, const Ideals& ideals) {
  switch (method) {
    case PartitionMethod::kPipeDream:
      return pipedream_partition(task, ideals);
    case PartitionMethod::kDnn:
      return task.latency ? least_latency_partition(task, ideals) : dnn_partition(task, ideals);
    case PartitionMethod::kAlpa:
      return alpa_partition(task, ideals);
    case PartitionMethod::kPiper:
      return piper_partition(task, ideals);
  }
  return std::nullopt;
}

/// All layers on all devices, level by level.
double data_parallel_seconds(const PartitionTask& task, const Ideals& ideals) {
  double seconds = ideals.seconds(ideals.last()), inside = 1;
  for (const PartitionLevel& level : task.levels) {
    const auto m = static_cast<double>(level.devices);
    const double sync =
        4 * (m - 1) * static_cast<double>(ideals.parameters(ideals.last()).count) / (level.bandwidth * m) / inside;
    seconds = (seconds + sync) / m;
    inside = m;
  }
  return seconds;
}

/// The least memory of a device, to a thousandth, with which the task fits.
std::optional<Bytes> least_memory(PartitionTask task, PartitionMethod method, const Ideals& ideals) {
  std::int64_t low = task.memory->count, high = std::max<std::int64_t>(low, 1);
  do {
    if (high > kMaxParsedBytes.count / 4) return std::nullopt;
    high *= 2;
    task.memory = Bytes(high);
  } while (!best_of(task, method, ideals));
  low = std::max(low, high / 2);
  while (high - low > std::max<std::int64_t>(1, high / 1000)) {
    const std::int64_t middle = low + (high - low) / 2;
    task.memory = Bytes(middle);
    (best_of(task, method, ideals) ? high : low) = middle;
  }
  return Bytes(high);
}

/// The fewest devices of the outermost level, up to eight times as many, with which the task fits.
std::optional<std::size_t> enough_devices(PartitionTask task, PartitionMethod method, const Ideals& ideals) {
  const std::size_t there = task.levels.back().devices;
  const std::size_t most = std::min<std::size_t>(8 * there, 64);
  for (std::size_t devices = there + 1; devices <= most; ++devices) {
    task.levels.back().devices = devices;
    if (best_of(task, method, ideals)) return devices;
  }
  return std::nullopt;
}

tl::unexpected<Error> refuse(std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = std::move(remedy)});
}

}  // namespace

Result<void> check_partition_task(const PartitionTask& task, PartitionMethod method) {
  const bool flat = method == PartitionMethod::kDnn || method == PartitionMethod::kPiper;
  if (flat && task.levels.size() > 1)
    return refuse(fmt::format("{} knows one level of devices only", to_text(method)), "use --method pipedream");
  if (method == PartitionMethod::kAlpa && task.levels.size() > 2)
    return refuse("alpa knows two levels of devices at most", "use --method pipedream");
  if (task.latency && method != PartitionMethod::kDnn)
    return refuse(fmt::format("{} has no word for latency", to_text(method)), "use --method dnn");
  if (method == PartitionMethod::kPiper && task.fewer)
    return refuse("piper leaves devices idle anyway where that is no slower", "leave --use-fewer out");
  if (method == PartitionMethod::kDnn && (task.fewer || task.straight)) {
    return refuse("dnn has no replicas and leaves devices idle anyway", "leave --straight and --use-fewer out");
  }
  double forward = 0;
  for (const Layer& layer : task.graph.layers) forward += layer.forward_seconds;
  if (task.latency && forward == 0)
    return refuse("the profile does not tell the forward's time apart", "use --objective throughput");
  return {};
}

Result<PartitionAnswer> solve_partition(const PartitionTask& task, PartitionMethod method) {
  if (const auto usable = check_partition_task(task, method); !usable) return fail(usable.error());
  const Ideals ideals(task.graph, limits_of(task, method));
  PartitionAnswer answer{.method = method, .best = best_of(task, method, ideals), .cost = {}};
  answer.single_seconds = ideals.seconds(ideals.last());
  answer.data_parallel_seconds = data_parallel_seconds(task, ideals);
  answer.lower_bound = partition_bound(task, method);
  answer.cuts = ideals.count() - 2;
  answer.all_cuts = ideals.all();
  if (!answer.best) {
    if (!task.memory) return refuse("there are more devices than layers, and no replicas are allowed", "use fewer --devices");
    answer.least_memory = least_memory(task, method, ideals);
    answer.enough_devices = enough_devices(task, method, ideals);
    return answer;
  }
  answer.best->exact = answer.best->exact && ideals.all();
  const auto cost = verify_partition(task, *answer.best);
  if (!cost) return fail(cost.error());
  answer.cost = *cost;
  return answer;
}

}  // namespace plimsoll
