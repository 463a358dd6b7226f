#include "gui/timeline/place_strip.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "core/plan/transfers.h"

namespace plimsoll::gui {
namespace {

/// A transfer of a chunk, or work on it, in time.
struct Happening {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  SpaceKind from = SpaceKind::kHost;
  SpaceKind to = SpaceKind::kHost;  ///< where `from` is for work
  bool moves = false;
};

struct Chunk {
  CurvePart part = CurvePart::kParameters;
  std::int32_t block = 0;

  auto operator<=>(const Chunk&) const = default;
};

using Chunks = std::map<Chunk, std::vector<Happening>>;

PlaceState resting(SpaceKind space) {
  if (space == SpaceKind::kDevice) return PlaceState::kDevice;
  return space == SpaceKind::kHost ? PlaceState::kHost : PlaceState::kDrive;
}

PlaceState moving(SpaceKind from, SpaceKind to) {
  if (to == SpaceKind::kDevice) return PlaceState::kArriving;
  if (from == SpaceKind::kDevice) return PlaceState::kLeaving;
  return to == SpaceKind::kHost ? PlaceState::kFromDrive : PlaceState::kToDrive;
}

/// States last from step to step; activations and gradients come and go.
bool lasts(CurvePart part) { return part == CurvePart::kParameters || part == CurvePart::kOptimizer; }

/// Finds what happens to every chunk.
class Collector {
 public:
  Collector(const Plan& plan, const FlatBody& body) : plan_(plan), body_(body), moved_(plan.buffers.size(), false) {
    for (const Instruction& instruction : body.list.instructions) {
      if (!is_transfer(instruction.kind)) continue;
      for (const Use& use : body.uses(instruction)) moved_[use.target] = true;
    }
  }

  Chunks run(const Trace& trace) {
    for (const TraceEvent& event : trace.events) {
      if (event.status != EventStatus::kSkipped) add(event);
    }
    for (auto& [chunk, happenings] : chunks_) {
      std::stable_sort(happenings.begin(), happenings.end(),
                       [](const Happening& a, const Happening& b) { return a.begin < b.begin; });
    }
    return std::move(chunks_);
  }

 private:
  [[nodiscard]] SpaceKind space(const Use& use) const { return plan_.platform.at(plan_.buffers[use.target].space).kind; }

  void add(const TraceEvent& event) {
    const Instruction& instruction = body_.list.instructions[event.instruction];
    if (instruction.layer < 0) return;
    const auto uses = body_.uses(instruction);
    Happening happening{.begin = event.start.count, .end = event.end.count, .moves = is_transfer(instruction.kind)};
    if (happening.moves) {
      happening.from = space(uses[0]);
      happening.to = space(uses[1]);
      add_to(uses[1], instruction.layer, happening);
    } else if (instruction.kind == InstructionKind::kLaunch) {
      for (const Use& use : uses) {
        happening.from = happening.to = space(use);
        add_to(use, instruction.layer, happening);
      }
    }
  }

  void add_to(const Use& use, std::int32_t block, const Happening& happening) {
    const CurvePart part = curve_part(plan_.buffers[use.target].category);
    const bool shown = lasts(part) || part == CurvePart::kGradients || (part == CurvePart::kActivations && moved_[use.target]);
    if (!shown) return;
    auto& known = chunks_[{part, block}];
    const bool again = !known.empty() && known.back().begin == happening.begin && known.back().moves == happening.moves;
    if (!again) known.push_back(happening);  // a kernel that uses it twice
  }

  const Plan& plan_;
  const FlatBody& body_;
  std::vector<bool> moved_;
  Chunks chunks_;
};

/// Writes one chunk's lane, state after state.
class LaneWriter {
 public:
  LaneWriter(CurvePart part, std::int64_t begin, std::int64_t end) : lasts_(lasts(part)), at_(begin), end_(end) {}

  EventLane run(const std::vector<Happening>& happenings) {
    for (std::size_t i = 0; i < happenings.size(); ++i) {
      const Happening& now = happenings[i];
      rest_until(now);
      write(now.moves ? moving(now.from, now.to) : PlaceState::kInUse, now.end);
      if (now.moves && now.to == SpaceKind::kDevice) home_ = now.from;
      here_ = now.to;
      const bool wanted_here = i + 1 < happenings.size() && happenings[i + 1].from == SpaceKind::kDevice;
      if (!now.moves && now.to == SpaceKind::kDevice && !wanted_here) give_up();
    }
    if (here_) write(resting(*here_), end_);
    flush();
    lane_.finish();
    return std::move(lane_);
  }

 private:
  /// What it is between two happenings; before the first where the first finds it.
  void rest_until(const Happening& next) {
    if (!here_ && lasts_) here_ = next.from;
    if (here_) write(resting(*here_), next.begin);
    if (next.begin > at_) flush(), at_ = next.begin;
  }

  /// The device's copy is not used again before the data is wanted elsewhere or fetched anew: it is where it was fetched from,
  /// or no longer needed.
  void give_up() {
    if (!lasts_) here_.reset();
    else if (home_) here_ = home_;
  }

  void write(PlaceState state, std::int64_t until) {
    if (until <= at_) return;
    if (open_ && state == state_) {
      at_ = until;
      return;
    }
    flush();
    open_ = at_;
    state_ = state;
    at_ = until;
  }

  void flush() {
    if (open_ && at_ > *open_) lane_.add({*open_, at_, static_cast<std::uint32_t>(state_), 0});
    open_.reset();
  }

  bool lasts_;
  std::int64_t at_;
  std::int64_t end_;
  std::optional<SpaceKind> here_;
  std::optional<SpaceKind> home_;
  std::optional<std::int64_t> open_;
  PlaceState state_ = PlaceState::kHost;
  EventLane lane_;
};

}  // namespace

const std::array<TimelineLabel, kPlaceStates>& place_labels() {
  static const std::array<TimelineLabel, kPlaceStates> kLabels = [] {
    std::array<TimelineLabel, kPlaceStates> labels{};
    for (std::size_t i = 0; i < kPlaceStates; ++i) labels[i] = {0, static_cast<std::uint8_t>(i)};
    return labels;
  }();
  return kLabels;
}

std::vector<PlaceStrip> place_strips(const Plan& plan, const FlatBody& body, const Trace& trace) {
  std::int64_t begin = INT64_MAX, end = INT64_MIN;
  for (const TraceEvent& event : trace.events) {
    begin = std::min(begin, event.start.count);
    end = std::max(end, event.end.count);
  }
  std::map<CurvePart, PlaceStrip> strips;
  std::map<CurvePart, bool> any_moves;
  for (const auto& [chunk, happenings] : Collector(plan, body).run(trace)) {
    PlaceStrip& strip = strips[chunk.part];
    strip.part = chunk.part;
    strip.blocks.push_back(chunk.block);
    strip.lanes.push_back(LaneWriter(chunk.part, begin, end).run(happenings));
    any_moves[chunk.part] |= std::any_of(happenings.begin(), happenings.end(), [](const Happening& h) { return h.moves; });
  }
  std::vector<PlaceStrip> shown;
  for (auto& [part, strip] : strips) {
    if (any_moves[part]) shown.push_back(std::move(strip));
  }
  return shown;
}

}  // namespace plimsoll::gui
