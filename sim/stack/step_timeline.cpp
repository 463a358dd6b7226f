#include "sim/stack/step_timeline.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

namespace plimsoll {
namespace {

/// Passes take turns, micro-batch after micro-batch.
bool begins_turn(const std::vector<TimedLaunch>& launches, std::size_t i) {
  return i == 0 || launches[i - 1].phase != launches[i].phase || launches[i - 1].turn != launches[i].turn;
}

constexpr std::array kPhases{Phase::kForward, Phase::kBackward, Phase::kOptimizer};

/// Seconds of one phase by who is busy.
struct PhaseWork {
  std::array<double, kStepLanes> lanes{};
  double dispatch = 0;
  double kernel_dispatch = 0;  ///< of the GPU's kernels alone
  double blocked = 0;  ///< of copies and collectives that kernels wait for
  double blocked_collectives = 0;
  double passes = 0;  ///< of the host's seconds, those of norms and checks that come before an update

  [[nodiscard]] double of(StepLane lane) const { return lanes[static_cast<std::size_t>(lane)]; }
  [[nodiscard]] double kernels() const { return kernel_dispatch > 0 ? std::max(of(StepLane::kCompute), dispatch) : of(StepLane::kCompute); }
  /// The share of a phase in which the GPU waits for the dispatching thread that falls to this launch.
  [[nodiscard]] double pause(const TimedLaunch& launch) const {
    if (lane_of(launch.sort) != StepLane::kCompute) return 0;
    const double idle = kernels() - of(StepLane::kCompute);
    return idle > 0 ? idle * launch.dispatch / kernel_dispatch : 0;
  }
};

/// One micro-batch's part of a phase: launches that follow each other in it.
struct Turn {
  double kernels = 0;  ///< with their pauses
  double collectives = 0;
  double last_collective = 0;  ///< 0 where nothing waits for it
  double blocked = 0;          ///< of collectives that kernels wait for

  /// Of collectives, what the micro-batch's own kernels do not hide; the last has none left beside it.
  [[nodiscard]] double exposed() const { return std::max(collectives - kernels, last_collective); }
};

PhaseWork work_of(const std::vector<TimedLaunch>& launches, Phase phase) {
  PhaseWork work;
  for (const TimedLaunch& launch : launches) {
    if (launch.phase != phase) continue;
    const StepLane lane = lane_of(launch.sort);
    work.dispatch += launch.dispatch;
    if (lane == StepLane::kCompute) work.kernel_dispatch += launch.dispatch;
    if (launch.blocking) {
      work.blocked += launch.seconds;
      if (lane == StepLane::kCollectives) work.blocked_collectives += launch.seconds;
      continue;
    }
    work.lanes[static_cast<std::size_t>(lane)] += launch.seconds;
    if (launch.sort == StackKernelSort::kHostPass) work.passes += launch.seconds;
  }
  return work;
}

/// A phase's turns, in their order; `reduces` says whether what is reduced among data ranks counts.
std::vector<Turn> turns_of(const std::vector<TimedLaunch>& launches, Phase phase, const PhaseWork& work, bool reduces = true) {
  std::vector<Turn> turns;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const TimedLaunch& launch = launches[i];
    if (launch.phase != phase) continue;
    if (begins_turn(launches, i)) turns.emplace_back();
    if (launch.reduces && !reduces) continue;
    const StepLane lane = lane_of(launch.sort);
    if (launch.blocking) {
      if (lane == StepLane::kCollectives) turns.back().blocked += launch.seconds;
      continue;
    }
    if (lane == StepLane::kCompute) turns.back().kernels += launch.seconds + work.pause(launch);
    if (lane != StepLane::kCollectives) continue;
    turns.back().collectives += launch.seconds;
    turns.back().last_collective = launch.awaited ? launch.seconds : 0;
  }
  return turns;
}

/// What the last micro-batch waits for that the one before it does not: gradients that are reduced once a step. Of one alone, what it would not
/// wait for without them.
double waited_once(const std::vector<Turn>& turns, const std::vector<Turn>& unreduced) {
  if (turns.empty() || unreduced.empty()) return 0;
  const Turn &last = turns.back(), &before = turns.size() == 1 ? unreduced.back() : turns[turns.size() - 2];
  return std::max(0.0, last.exposed() + last.blocked - before.exposed() - before.blocked);
}

double exposed_collectives(const std::vector<Turn>& turns) {
  return std::accumulate(turns.begin(), turns.end(), 0.0, [](double sum, const Turn& turn) { return sum + turn.exposed(); });
}

/// What copies, drives and the host add to a phase's kernels.
double exposed_others(const PhaseWork& work, Phase phase) {
  const double copies = work.of(StepLane::kCopies), drives = work.of(StepLane::kDrive), host = work.of(StepLane::kHost);
  if (phase != Phase::kOptimizer) return std::max({copies, drives, host, work.kernels()}) - work.kernels();
  const double updates = host - work.passes + drives;
  if (host + drives == 0) return std::max(copies - work.kernels(), 0.0);
  return work.passes + std::max(updates, copies);
}

/// Of that, what is no update: copies that are left over, and drives.
double exposed_transfer(const PhaseWork& work, Phase phase, double exposed) {
  return phase == Phase::kOptimizer ? std::max(exposed - work.of(StepLane::kHost), 0.0) : exposed;
}

/// Lays one phase out by itself; lanes but the GPU's end with it at the latest, collectives with their turn.
class PhaseLayout {
 public:
  PhaseLayout(const std::vector<TimedLaunch>& launches, Phase phase, const PhaseWork& work, const std::vector<Turn>& turns, double length)
      : launches_(launches), phase_(phase), work_(work), turns_(turns), length_(length), left_(work.lanes) {}

  /// Spans from the phase's own beginning, and how far its kernels are when each launch comes.
  void write(StepTimeline& timeline, std::vector<double>& reached) {
    for (std::size_t i = 0; i < launches_.size(); ++i) {
      if (launches_[i].phase != phase_) continue;
      if (begins_turn(launches_, i)) begin_turn();
      reached[i] = ends_[0];
      timeline.spans[i] = span_of(launches_[i]);
      timeline.pauses[i] = work_.pause(launches_[i]);
    }
  }

 private:
  /// Kernels wait for what the turn before left exposed.
  void begin_turn() {
    if (turn_ >= 0) ends_[0] += turns_[static_cast<std::size_t>(turn_)].exposed();
    const Turn& turn = turns_[static_cast<std::size_t>(++turn_)];
    collectives_left_ = turn.collectives;
    collectives_until_ = ends_[0] + turn.kernels + turn.exposed();
  }

  LaunchSpan collective(const TimedLaunch& launch, double& end) {
    const double start = std::max(end, std::min(std::max(end, ends_[0]), collectives_until_ - collectives_left_));
    collectives_left_ -= launch.seconds;
    end = start + launch.seconds;
    return {.lane = StepLane::kCollectives, .start = start, .end = end};
  }

  LaunchSpan span_of(const TimedLaunch& launch) {
    const StepLane lane = lane_of(launch.sort);
    double& end = ends_[static_cast<std::size_t>(lane)];
    if (launch.blocking) {
      const double start = ends_[0];
      ends_[0] += launch.seconds;
      end = std::max(end, ends_[0]);
      collectives_until_ += launch.seconds;
      return {.lane = lane, .start = start, .end = ends_[0]};
    }
    if (lane == StepLane::kCollectives) return collective(launch, end);
    if (lane == StepLane::kCompute) {
      const double start = end;
      end += launch.seconds + work_.pause(launch);
      return {.lane = lane, .start = start, .end = start + launch.seconds};
    }
    double& left = left_[static_cast<std::size_t>(lane)];
    const bool serial = phase_ == Phase::kOptimizer && (lane == StepLane::kHost || lane == StepLane::kDrive);
    if (serial) end = std::max(ends_[static_cast<std::size_t>(StepLane::kHost)], ends_[static_cast<std::size_t>(StepLane::kDrive)]);
    const double natural = std::max(end, serial ? work_.kernels() + work_.blocked : ends_[0]);
    const double start = std::max(end, std::min(natural, length_ - left));
    left -= launch.seconds;
    end = start + launch.seconds;
    return {.lane = lane, .start = start, .end = end};
  }

  const std::vector<TimedLaunch>& launches_;
  Phase phase_;
  const PhaseWork& work_;
  const std::vector<Turn>& turns_;
  int turn_ = -1;
  double collectives_left_ = 0;   ///< seconds of this turn's that have not been laid out
  double collectives_until_ = 0;  ///< when they have to have ended
  double length_;
  std::array<double, kStepLanes> left_;
  std::array<double, kStepLanes> ends_{};
};

/// Each turn is moved to where the one before it ends.
void join_turns(const std::vector<TimedLaunch>& launches, const std::vector<double>& reached, std::array<double, kPhases.size()> lengths,
                StepTimeline& timeline) {
  const auto index = [](Phase phase) { return static_cast<std::size_t>(std::find(kPhases.begin(), kPhases.end(), phase) - kPhases.begin()); };
  // From the last turn backwards, each knows where its phase goes on.
  std::vector<double> turn_length(launches.size());
  for (std::size_t i = launches.size(); i-- > 0;) {
    const bool begins = begins_turn(launches, i);
    double& until = lengths[index(launches[i].phase)];
    if (begins) turn_length[i] = until - reached[i];
    if (begins) until = reached[i];
  }
  double begin = 0, next = 0, shift = 0;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    if (begins_turn(launches, i)) {
      begin = next;
      next = begin + turn_length[i];
      shift = begin - reached[i];
    }
    timeline.spans[i].start += shift;
    timeline.spans[i].end += shift;
  }
}

}  // namespace

StepLane lane_of(StackKernelSort sort) {
  switch (sort) {
    case StackKernelSort::kCollective: return StepLane::kCollectives;
    case StackKernelSort::kToHost:
    case StackKernelSort::kToDevice: return StepLane::kCopies;
    case StackKernelSort::kHostPass:
    case StackKernelSort::kHostUpdate: return StepLane::kHost;
    case StackKernelSort::kFromDrive:
    case StackKernelSort::kToDrive: return StepLane::kDrive;
    default: return StepLane::kCompute;
  }
}

namespace {

const char* resource_of(StackKernelSort sort) {
  switch (sort) {
    case StackKernelSort::kCollective:
      return "communication";
    case StackKernelSort::kToHost:
      return "d2h";
    case StackKernelSort::kToDevice:
      return "h2d";
    case StackKernelSort::kHostPass:
    case StackKernelSort::kHostUpdate:
      return "cpu";
    case StackKernelSort::kFromDrive:
      return "ssd.read";
    case StackKernelSort::kToDrive:
      return "ssd.write";
    default:
      return "compute";
  }
}

std::vector<StackLoad> loads_of(const std::vector<TimedLaunch>& launches) {
  std::vector<StackLoad> loads{{"compute", 0}, {"launches", 0}};
  for (const TimedLaunch& launch : launches) {
    const std::string_view resource = resource_of(launch.sort);
    auto load =
        std::find_if(loads.begin(), loads.end(), [&](const StackLoad& one) { return one.resource == resource; });
    if (load == loads.end()) load = loads.insert(loads.end(), {resource_of(launch.sort), 0});
    load->seconds += launch.seconds;
    loads[1].seconds += launch.dispatch;
  }
  std::stable_sort(loads.begin(), loads.end(),
                   [](const StackLoad& a, const StackLoad& b) { return a.seconds > b.seconds; });
  return loads;
}

}  // namespace

StepTimeline lay_out_step(const std::vector<TimedLaunch>& launches) {
  StepTimeline timeline;
  timeline.spans.resize(launches.size());
  timeline.pauses.resize(launches.size());
  std::vector<double> reached(launches.size());
  std::array<double, kPhases.size()> lengths{};
  StackTime& time = timeline.time;
  for (std::size_t i = 0; i < kPhases.size(); ++i) {
    const PhaseWork work = work_of(launches, kPhases[i]);
    const std::vector<Turn> turns = turns_of(launches, kPhases[i], work);
    const double others = exposed_others(work, kPhases[i]), exposed = exposed_collectives(turns);
    lengths[i] = work.kernels() + work.blocked + exposed + others;
    time.exposed_communication += work.blocked_collectives + exposed;
    time.exposed_transfer += work.blocked - work.blocked_collectives + exposed_transfer(work, kPhases[i], others);
    time.step += lengths[i];
    if (kPhases[i] != Phase::kOptimizer) time.once += waited_once(turns, turns_of(launches, kPhases[i], work, false));
    PhaseLayout(launches, kPhases[i], work, turns, lengths[i]).write(timeline, reached);
  }
  time.forward = lengths[0];
  time.backward = lengths[1];
  time.optimizer = lengths[2];
  time.loads = loads_of(launches);
  join_turns(launches, reached, lengths, timeline);
  return timeline;
}

}  // namespace plimsoll
