#include "sim/planner/partition/pipedream_partition.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <numeric>

#include "sim/planner/parallel_for.h"

namespace plimsoll {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Devices further down the pipeline for each device of what is looked at, as a fraction in lowest terms.
struct Share {
  std::size_t over = 0, under = 1;
  auto operator<=>(const Share&) const = default;
};

Share share_of(std::size_t over, std::size_t under) {
  const std::size_t common = std::gcd(over, under);
  return {over / common, under / common};
}

/// The best pipeline from one cut to another on a number of machines: its last stage begins at `split`.
struct Cell {
  double seconds = kNever;
  std::uint32_t split = 0;
  std::uint32_t machines = 0;  ///< of the last stage; 0: the cell of one machine less
  Bytes moved;                 ///< over all cuts, which decides between equal times

  [[nodiscard]] bool before(const Cell& other) const {
    return seconds < other.seconds || (seconds == other.seconds && moved < other.moved);
  }
};

/// All cells of one level; the outermost level only has those that begin at the empty set.
class LevelTable {
 public:
  LevelTable(const PartitionTask& task, const Ideals& ideals, std::size_t level, Share downstream);

  /// Of all machines of this level together.
  [[nodiscard]] double seconds(std::uint32_t from, std::uint32_t to) const { return cell(from, to, machines_).seconds; }
  [[nodiscard]] std::vector<PartitionStage> stages(std::uint32_t from, std::uint32_t to) const {
    return stages(from, to, machines_);
  }

 private:
  [[nodiscard]] bool outermost() const { return level_ + 1 == task_.levels.size(); }
  [[nodiscard]] std::size_t inner_machines() const { return level_ == 0 ? 1 : task_.levels[level_ - 1].devices; }
  [[nodiscard]] std::size_t index(std::uint32_t from, std::uint32_t to, std::size_t machines) const {
    return (from * ideals_.count() + to) * machines_ + machines - 1;
  }
  [[nodiscard]] const Cell& cell(std::uint32_t from, std::uint32_t to, std::size_t machines) const {
    return cells_[index(from, to, machines)];
  }

  /// What the devices after a stage add to what the level below sees after it.
  [[nodiscard]] Share below(std::size_t after, std::size_t own) const {
    return share_of((downstream_.over + after * downstream_.under) * inner_machines(), downstream_.under * own);
  }
  void make_inner();
  void fill_from(std::uint32_t from);
  [[nodiscard]] Cell one_stage(std::uint32_t from, std::uint32_t to, std::size_t machines) const;
  [[nodiscard]] Cell best(std::uint32_t from, std::uint32_t to, std::size_t machines, const std::vector<bool>& starts) const;
  [[nodiscard]] double replica_seconds(std::uint32_t from, std::uint32_t to, std::size_t after, std::size_t own) const;
  [[nodiscard]] double sync_seconds(std::uint32_t from, std::uint32_t to, std::size_t machines) const;
  [[nodiscard]] std::vector<PartitionStage> stages(std::uint32_t from, std::uint32_t to, std::size_t machines) const;

  const PartitionTask& task_;
  const Ideals& ideals_;
  std::size_t level_, machines_;
  double bandwidth_;
  Share downstream_;
  std::map<Share, std::unique_ptr<LevelTable>> inner_;
  std::vector<Cell> cells_;
};

LevelTable::LevelTable(const PartitionTask& task, const Ideals& ideals, std::size_t level, Share downstream)
    : task_(task),
      ideals_(ideals),
      level_(level),
      machines_(task.levels[level].devices),
      bandwidth_(task.levels[level].bandwidth),
      downstream_(downstream) {
  make_inner();
  const std::size_t starts = outermost() ? 1 : ideals_.count() - 1;
  cells_.resize(starts * ideals_.count() * machines_);
  parallel_for(starts, [&](std::size_t from) { fill_from(static_cast<std::uint32_t>(from)); });
}

/// One table of the level below for each share of devices that may come after a stage; only memory tells them apart.
void LevelTable::make_inner() {
  if (level_ == 0) return;
  for (std::size_t own = 1; own <= machines_; ++own) {
    for (std::size_t after = 0; own + after <= machines_; ++after) {
      const Share share = task_.memory ? below(after, own) : Share{};
      if (inner_.contains(share)) continue;
      inner_[share] = std::make_unique<LevelTable>(task_, ideals_, level_ - 1, share);
    }
  }
}

/// Of one replica; never when what it keeps for the samples in flight is too much.
double LevelTable::replica_seconds(std::uint32_t from, std::uint32_t to, std::size_t after, std::size_t own) const {
  if (level_ > 0) return inner_.at(task_.memory ? below(after, own) : Share{})->seconds(from, to);
  if (task_.memory) {
    const std::size_t under = downstream_.under * own;
    const std::size_t in_flight = (downstream_.over + after * downstream_.under + under - 1) / under + 1;
    const Bytes kept = ideals_.outputs(to) - ideals_.outputs(from) + ideals_.parameters(to) - ideals_.parameters(from);
    if (kept.count > task_.memory->count / static_cast<std::int64_t>(in_flight)) return kNever;
  }
  return ideals_.seconds(to) - ideals_.seconds(from);
}

double LevelTable::sync_seconds(std::uint32_t from, std::uint32_t to, std::size_t machines) const {
  const auto m = static_cast<double>(machines);
  const auto bytes = static_cast<double>((ideals_.parameters(to) - ideals_.parameters(from)).count);
  return 4 * (m - 1) * bytes / (bandwidth_ * m);
}

Cell LevelTable::one_stage(std::uint32_t from, std::uint32_t to, std::size_t machines) const {
  if (task_.straight && machines > 1) return {};
  const double replica = replica_seconds(from, to, machines_ - machines, machines);
  const double sync = sync_seconds(from, to, machines) / static_cast<double>(inner_machines());
  return {(replica + sync) / static_cast<double>(machines), from, static_cast<std::uint32_t>(machines), Bytes()};
}

Cell LevelTable::best(std::uint32_t from, std::uint32_t to, std::size_t machines, const std::vector<bool>& starts) const {
  Cell best = one_stage(from, to, machines);
  if (task_.fewer && machines > 1 && cell(from, to, machines - 1).seconds < best.seconds) {
    best = {cell(from, to, machines - 1).seconds, from, 0, cell(from, to, machines - 1).moved};
  }
  const double out = to == ideals_.last() ? 0 : 2 * static_cast<double>(ideals_.antichain(to).count) / bandwidth_;
  for (const std::uint32_t split : ideals_.below(to)) {
    if (!starts[split] || split == from) continue;
    const double in = 2 * static_cast<double>(ideals_.antichain(split).count) / bandwidth_;
    const std::size_t most = task_.straight ? 1 : machines - 1;
    for (std::size_t own = 1; own <= most && own < machines; ++own) {
      const Cell& rest = cell(from, split, machines - own);
      const auto m = static_cast<double>(own);
      const double least = std::max({rest.seconds, in / m, out / m});
      if (least > best.seconds || least == kNever) continue;
      const double replica = replica_seconds(split, to, machines_ - machines, own);
      const Cell found{std::max(least, (replica + sync_seconds(split, to, own)) / m), split, static_cast<std::uint32_t>(own),
                       rest.moved + ideals_.antichain(split)};
      if (found.before(best)) best = found;
    }
  }
  return best;
}

void LevelTable::fill_from(std::uint32_t from) {
  std::vector<bool> starts(ideals_.count());
  for (std::uint32_t to = from; to < ideals_.count(); ++to) starts[to] = ideals_[to].contains(ideals_[from]);
  for (std::size_t machines = 1; machines <= machines_; ++machines) {
    for (std::uint32_t to = from + 1; to < ideals_.count(); ++to) {
      if (starts[to]) cells_[index(from, to, machines)] = best(from, to, machines, starts);
    }
  }
}

std::vector<PartitionStage> LevelTable::stages(std::uint32_t from, std::uint32_t to, std::size_t machines) const {
  const Cell& last = cell(from, to, machines);
  if (last.machines == 0) return stages(from, to, machines - 1);
  std::vector<PartitionStage> stages;
  if (last.split != from) stages = this->stages(from, last.split, machines - last.machines);
  PartitionStage stage;
  stage.layers = ideals_.between(last.split, to);
  stage.replicas = last.machines;
  if (level_ > 0) {
    stage.inner = inner_.at(task_.memory ? below(machines_ - machines, last.machines) : Share{})->stages(last.split, to);
  }
  stages.push_back(std::move(stage));
  return stages;
}

}  // namespace

std::optional<Partition> pipedream_partition(const PartitionTask& task, const Ideals& ideals) {
  const LevelTable table(task, ideals, task.levels.size() - 1, {});
  if (table.seconds(0, ideals.last()) == kNever) return std::nullopt;
  return Partition{PartitionMethod::kPipeDream, table.stages(0, ideals.last())};
}

}  // namespace plimsoll
