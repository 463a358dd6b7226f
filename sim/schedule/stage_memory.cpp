#include "sim/schedule/stage_memory.h"

#include <algorithm>
#include <tuple>

namespace plimsoll {
namespace {

/// What a rank holds changes at a time. Counted in two currencies, whole stages and parts kept for W, so that sums
/// stay exact.
struct Change {
  Ticks time;
  bool comes = false;  ///< at equal times, what goes makes room for what comes
  std::int64_t stages = 0;
  std::int64_t kept = 0;
};

void changes_of_orders(const PipelineSchedule& schedule, const ScheduleTiming& timing,
                       std::vector<std::vector<Change>>& changes) {
  using enum PipelineWork;
  for (std::size_t rank = 0; rank < schedule.ranks(); ++rank) {
    for (std::size_t i = 0; i < schedule.orders[rank].size(); ++i) {
      const OpTime& time = timing.ops[rank][i];
      switch (schedule.orders[rank][i].work) {
        case kForward:
          changes[rank].push_back({time.begin, true, 1, 0});
          break;
        case kBackward:
          changes[rank].push_back({time.end, false, -1, 0});
          break;
        case kInputGradient:
          changes[rank].push_back({time.end, false, -1, 1});
          break;
        case kWeightGradient:
          changes[rank].push_back({time.end, false, 0, -1});
          break;
      }
    }
  }
}

/// Moved activations leave when their forward ended and are back when their backward starts.
void changes_of_moves(const PipelineSchedule& schedule, const ScheduleTiming& timing,
                      std::vector<std::vector<Change>>& changes) {
  if (schedule.moves.empty()) return;
  std::vector<OpTime> forwards(schedule.cells());
  std::vector<OpTime> backwards(schedule.cells());
  for (std::size_t rank = 0; rank < schedule.ranks(); ++rank) {
    for (std::size_t i = 0; i < schedule.orders[rank].size(); ++i) {
      const PipelineOp& op = schedule.orders[rank][i];
      if (op.work == PipelineWork::kForward) forwards[schedule.cell(op)] = timing.ops[rank][i];
      if (sends_gradient(op.work)) backwards[schedule.cell(op)] = timing.ops[rank][i];
    }
  }
  for (const StashMove& move : schedule.moves) {
    const std::size_t cell = schedule.cell(move.after);
    changes[move.from.index].push_back({forwards[cell].end, false, -1, 0});
    changes[move.from.index].push_back({backwards[cell].begin, true, 1, 0});
    changes[move.to.index].push_back({forwards[cell].end, true, 1, 0});
    changes[move.to.index].push_back({backwards[cell].begin, false, -1, 0});
  }
  for (auto& of_rank : changes) {
    std::stable_sort(of_rank.begin(), of_rank.end(), [](const Change& a, const Change& b) {
      return std::tie(a.time, a.comes) < std::tie(b.time, b.comes);
    });
  }
}

double peak_of(const std::vector<Change>& changes, double kept_for_weights) {
  std::int64_t stages = 0;
  std::int64_t kept = 0;
  double peak = 0;
  for (const Change& change : changes) {
    stages += change.stages;
    kept += change.kept;
    peak = std::max(peak, static_cast<double>(stages) + kept_for_weights * static_cast<double>(kept));
  }
  return peak;
}

/// Versions that a rank keeps when every backward makes a new one: those that micro-batches between their forward and
/// their backward have seen, and the newest.
std::uint32_t stashed_versions(const PipelineSchedule& schedule, const std::vector<PipelineOp>& order) {
  std::vector<std::uint32_t> users(1, 0);  // of each version; the last is the newest
  std::vector<std::uint32_t> version_of(schedule.cells());
  std::uint32_t alive = 1;
  std::uint32_t most = 1;
  for (const PipelineOp& op : order) {
    std::uint32_t& version = version_of[schedule.cell(op)];
    if (op.work == PipelineWork::kForward) {
      version = static_cast<std::uint32_t>(users.size() - 1);
      ++users.back();
    } else if (ends_backward(op.work)) {
      const bool was_last_user = --users[version] == 0;
      if (was_last_user && version + 1 != users.size()) --alive;
      if (users.back() != 0) ++alive;  // a newest one that nobody uses is overwritten
      users.push_back(0);
      most = std::max(most, alive);
    }
  }
  return most;
}

/// Where micro-batches go round: the version that the first stage saw is that of all micro-batches before some one; a
/// stage takes its newest one without any later, for which it keeps so many.
std::uint32_t synchronised_versions(const std::vector<std::uint32_t>& replicas, std::size_t stage) {
  const std::int64_t ranks = first_rank_of(replicas, replicas.size()), first = replicas.front(), own = replicas[stage];
  const std::int64_t behind = (ranks + first - 1) / first * first - first;  // micro-batches in flight, less a round
  const auto round = static_cast<std::int64_t>(common_round(replicas));
  std::int64_t most = 0;
  for (std::int64_t m = 0; m < round; ++m) {
    const std::int64_t now = round * ranks + m;  // so much later, lest what was seen be negative
    const std::int64_t seen = now / first * first - behind;
    most = std::max(most, now / own - seen / own);
  }
  return static_cast<std::uint32_t>(most) + 1;
}

std::vector<std::uint32_t> versions_of_rounds(const std::vector<std::uint32_t>& replicas) {
  std::vector<std::uint32_t> versions;
  for (std::size_t stage = 0; stage < replicas.size(); ++stage)
    versions.insert(versions.end(), replicas[stage], synchronised_versions(replicas, stage));
  return versions;
}

}  // namespace

std::vector<double> peak_activations(const PipelineSchedule& schedule, const ScheduleTiming& timing,
                                     double kept_for_weights) {
  std::vector<std::vector<Change>> changes(schedule.ranks());
  changes_of_orders(schedule, timing, changes);
  changes_of_moves(schedule, timing, changes);
  std::vector<double> peaks;
  for (const auto& of_rank : changes) {
    const double stages = peak_of(of_rank, kept_for_weights);
    peaks.push_back(stages * static_cast<double>(schedule.ranks_of_model()) / schedule.stages);
  }
  return peaks;
}

std::vector<std::uint32_t> weight_versions(const PipelineSchedule& schedule) {
  if (schedule.weights == WeightRule::kFlush) return std::vector<std::uint32_t>(schedule.ranks(), 1);
  if (schedule.weights == WeightRule::kDoubleBuffered) return std::vector<std::uint32_t>(schedule.ranks(), 2);
  const bool synchronised = schedule.weights == WeightRule::kVerticalSync;
  if (synchronised && schedule.goes_round()) return versions_of_rounds(schedule.replicas);
  std::vector<std::uint32_t> versions;
  for (const auto& order : schedule.orders) versions.push_back(stashed_versions(schedule, order));
  if (synchronised) versions.assign(versions.size(), versions.front());
  return versions;
}

std::vector<double> weight_copies(const PipelineSchedule& schedule) {
  const std::vector<std::uint32_t> versions = weight_versions(schedule);
  std::vector<double> copies;
  for (std::size_t rank = 0; rank < schedule.ranks(); ++rank) {
    std::vector<bool> held(schedule.stages, false);
    for (const PipelineOp& op : schedule.orders[rank]) held[op.stage.index] = true;
    const auto stages = static_cast<double>(std::count(held.begin(), held.end(), true));
    copies.push_back(versions[rank] * stages * static_cast<double>(schedule.ranks_of_model()) / schedule.stages);
  }
  return copies;
}

}  // namespace plimsoll
