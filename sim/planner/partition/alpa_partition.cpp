#include "sim/planner/partition/alpa_partition.h"

#include <algorithm>
#include <limits>

namespace plimsoll {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostRounds = 4000;

/// Layers `from` … `to` - 1 of the order on a mesh.
struct Candidate {
  std::uint32_t from = 0, to = 0;
  std::size_t devices = 1;
  double seconds = 0;
  std::size_t most_after = 0;  ///< stages that may follow it, by its memory
};

/// What is left of the order from a layer on, on a number of devices and, where memory counts, in a number of stages.
struct Cell {
  double seconds = kNever;  ///< sum of its stages
  const Candidate* first = nullptr;
};

class MeshTable {
 public:
  MeshTable(const PartitionTask& task, const Ideals& order)
      : task_(task), layers_(order.count() - 1), devices_(task.devices()), depth_(task.memory ? std::min(layers_, devices_) : 1) {
    for (const std::size_t mesh : mesh_sizes(task)) {
      for (std::uint32_t from = 0; from < layers_; ++from) {
        for (std::uint32_t to = from + 1; to <= layers_; ++to) add(order, from, to, mesh);
      }
    }
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const Candidate& a, const Candidate& b) { return a.from > b.from; });
  }

  /// The least sum of stages of which none takes longer than `most`.
  double solve(double most) {
    cells_.assign((depth_ + 1) * (layers_ + 1) * (devices_ + 1), {});
    cell(0, layers_, 0).seconds = 0;
    for (const Candidate& stage : candidates_) {
      if (stage.seconds > most) continue;
      for (std::size_t after = 0; after < depth_ || after == 0; ++after) {
        if (after > stage.most_after) break;
        for (std::size_t d = stage.devices; d <= devices_; ++d) {
          const double seconds = stage.seconds + cell(after, stage.to, d - stage.devices).seconds;
          Cell& known = cell(task_.memory ? after + 1 : 0, stage.from, d);
          if (seconds < known.seconds) known = {seconds, &stage};
        }
      }
    }
    double least = kNever;
    for (std::size_t s = 0; s <= depth_; ++s) least = std::min(least, whole(s).seconds);
    return least;
  }

  /// The stages of the last solution.
  std::vector<const Candidate*> stages() {
    std::size_t s = 0;
    for (std::size_t i = 1; i <= depth_; ++i) s = whole(i).seconds < whole(s).seconds ? i : s;
    std::vector<const Candidate*> stages;
    for (std::size_t from = 0, d = whole_devices(s); from < layers_;) {
      const Candidate* stage = cell(s, from, d).first;
      stages.push_back(stage);
      from = stage->to;
      d -= stage->devices;
      if (task_.memory) --s;
    }
    return stages;
  }

  [[nodiscard]] std::vector<double> stage_times() const {
    std::vector<double> times;
    for (const Candidate& stage : candidates_) times.push_back(stage.seconds);
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    return times;
  }

 private:
  Cell& cell(std::size_t stages, std::size_t from, std::size_t devices) {
    return cells_[(stages * (layers_ + 1) + from) * (devices_ + 1) + devices];
  }
  const Cell& whole(std::size_t stages) { return cell(stages, 0, whole_devices(stages)); }
  std::size_t whole_devices(std::size_t stages) {
    std::size_t best = devices_;
    for (std::size_t d = 1; task_.fewer && d < devices_; ++d) {
      if (cell(stages, 0, d).seconds < cell(stages, 0, best).seconds) best = d;
    }
    return best;
  }

  void add(const Ideals& order, std::uint32_t from, std::uint32_t to, std::size_t mesh) {
    const auto devices = static_cast<double>(mesh);
    const auto parameters = order.parameters(to) - order.parameters(from);
    const std::size_t inside = std::min(mesh, task_.levels.front().devices);
    const auto m = static_cast<double>(inside), n = devices / m;
    const double sync = 4 * static_cast<double>(parameters.count) *
                        ((m - 1) / m / task_.levels.front().bandwidth + (n - 1) / n / task_.levels.back().bandwidth);
    const double in = from == 0 ? 0 : 2 * static_cast<double>(order.boundary(from).count) / task_.levels.back().bandwidth;
    Candidate stage{from, to, mesh, (order.seconds(to) - order.seconds(from) + in) / devices};
    stage.seconds += sync / static_cast<double>(task_.micro_batches);
    if (task_.memory) {
      const std::int64_t kept = (order.outputs(to) - order.outputs(from)).count;
      const std::int64_t room = task_.memory->count - 4 * parameters.count;
      if (room < 0) return;
      const auto own = static_cast<std::int64_t>(mesh);
      std::int64_t in_flight = kept == 0 ? static_cast<std::int64_t>(depth_) : room * own / kept;
      if (in_flight < 1) return;
      in_flight = std::min(in_flight, static_cast<std::int64_t>(depth_));
      stage.most_after = static_cast<std::size_t>(in_flight) - 1;
    }
    candidates_.push_back(stage);
  }

  const PartitionTask& task_;
  std::size_t layers_, devices_, depth_;
  std::vector<Candidate> candidates_;
  std::vector<Cell> cells_;
};

std::size_t first_feasible(MeshTable& table, const std::vector<double>& times) {
  std::size_t low = 0, high = times.size();
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    (table.solve(times[middle]) == kNever ? low : high) = table.solve(times[middle]) == kNever ? middle + 1 : middle;
  }
  return low;
}

Partition partition_of(const std::vector<const Candidate*>& stages, const Ideals& order) {
  Partition partition{.method = PartitionMethod::kAlpa, .stages = {}};
  for (const Candidate* stage : stages) {
    partition.stages.push_back({.layers = order.between(stage->from, stage->to), .replicas = stage->devices});
  }
  return partition;
}

}  // namespace

std::vector<std::size_t> mesh_sizes(const PartitionTask& task) {
  std::vector<std::size_t> sizes;
  const std::size_t node = task.levels.front().devices;
  if (task.straight) return {1};
  for (std::size_t size = 1; size < node; size *= 2) sizes.push_back(size);
  for (std::size_t size = node; size <= task.devices(); size += node) sizes.push_back(size);
  return sizes;
}

std::optional<Partition> alpa_partition(const PartitionTask& task, const Ideals& order) {
  MeshTable table(task, order);
  const std::vector<double> times = table.stage_times();
  const auto more = static_cast<double>(task.micro_batches - 1);
  const std::size_t first = first_feasible(table, times);
  if (first == times.size()) return std::nullopt;
  const double least_sum = table.solve(times.back());
  const std::size_t step = 1 + (times.size() - first) / kMostRounds;
  double best = kNever;
  Partition partition;
  bool exact = true;
  for (std::size_t i = first; i < times.size() && least_sum + more * times[i] < best; i += step) {
    const double sum = table.solve(times[i]);
    const auto stages = table.stages();
    double slowest = 0;
    for (const Candidate* stage : stages) slowest = std::max(slowest, stage->seconds);
    if (i > first && step > 1) exact = false;
    if (sum + more * slowest >= best) continue;
    best = sum + more * slowest;
    partition = partition_of(stages, order);
  }
  partition.exact = exact && order.all();
  return partition;
}

}  // namespace plimsoll
