#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>

#include "core/trace/nested_ranges.h"
#include "core/trace/work_units.h"

namespace plimsoll {
namespace {

constexpr std::string_view kBackwardNode = "autograd::engine::evaluate_function: ";
constexpr std::string_view kModule = "nn.Module: ";
constexpr std::string_view kUpdate = "Optimizer.step#";

/// "3" of "nn.Module: GPT2Block_3" and other modules that hold a whole layer.
std::optional<std::int64_t> layer_in(std::string_view name) {
  if (!name.starts_with(kModule)) return std::nullopt;
  const std::size_t bar = name.rfind('_');
  const bool layer = name.find("Norm") == std::string_view::npos && (name.find("Block") != std::string_view::npos ||
                                                                     name.find("Layer_") != std::string_view::npos);
  if (!layer || bar == std::string_view::npos) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data() + bar + 1, name.data() + name.size(), number);
  return error == std::errc() && end == name.data() + name.size() ? std::optional(number) : std::nullopt;
}

/// A stretch of a thread in which everything counts as one unit.
struct Found {
  WorkUnit unit;
  Nanoseconds start;
  Nanoseconds end;
  std::uint32_t thread = 0;
};

class Collector {
 public:
  Collector(const Recording& recording, Nanoseconds begin, Nanoseconds end) : recording_(recording), begin_(begin), end_(end) {}

  UnitStep collect() {
    for (const MarkedRange* range : nested_ranges(recording_)) {
      if (range->start >= begin_ && range->start < end_) visit(*range);
    }
    UnitStep step{.operators = !found_.empty()};
    if (found_.empty()) return kernels(std::move(step));
    std::stable_sort(found_.begin(), found_.end(), [](const Found& a, const Found& b) { return a.start < b.start; });
    step.on_device = take_device_times();
    for (Found& found : found_) step.units.push_back(std::move(found.unit));
    return step;
  }

 private:
  struct Open {
    Nanoseconds end;
    bool unit = false;
    std::optional<std::int64_t> layer;
  };

  void visit(const MarkedRange& range) {
    std::vector<Open>& open = open_[range.thread];
    while (!open.empty() && open.back().end <= range.start) open.pop_back();
    const std::string& name = recording_.names.at(range.name);
    const bool covered = std::any_of(open.begin(), open.end(), [](const Open& o) { return o.unit; });
    const bool unit = !covered && is_unit(range, name);
    open.push_back({range.end, unit, layer_in(name)});
    if (!unit) return;
    WorkUnit made{.phase = UnitPhase::kForward, .sort = class_of_operator(name), .name = name, .time = range.end - range.start};
    if (name.starts_with(kBackwardNode)) {
      made.phase = UnitPhase::kBackward;
      made.name = name.substr(kBackwardNode.size());
      made.sort = class_of_operator(made.name);
    } else if (name.starts_with(kUpdate) || name.starts_with("Optimizer.zero_grad")) {
      made.phase = UnitPhase::kOptimizer;
    }
    for (const Open& o : open) {
      if (o.layer) made.layer = *o.layer;
    }
    found_.push_back({std::move(made), range.start, range.end, range.thread});
  }

  static bool is_unit(const MarkedRange& range, std::string_view name) {
    if (range.kind == RangeKind::kAnnotation) return name.starts_with("Optimizer.");
    return range.kind == RangeKind::kOperator && name.find("ProfilerStep") == std::string_view::npos;
  }

  /// Device work of calls that began within a unit; false when there is none at all.
  bool take_device_times() {
    std::map<std::pair<std::uint32_t, std::uint64_t>, Nanoseconds> by_call;
    for (const DeviceWork& work : recording_.work) {
      if (work.correlation != 0) by_call[{work.on.process, work.correlation}] += work.end - work.start;
    }
    if (by_call.empty()) return false;
    std::map<std::uint32_t, std::vector<Found*>> by_thread;
    for (Found& found : found_) {
      found.unit.time = Nanoseconds(0);
      by_thread[found.thread].push_back(&found);
    }
    for (const HostCall& call : recording_.calls) {
      const auto time = by_call.find({recording_.threads[call.thread].process, call.correlation});
      const auto units = by_thread.find(call.thread);
      if (time == by_call.end() || units == by_thread.end()) continue;
      const auto after = std::upper_bound(units->second.begin(), units->second.end(), call.start,
                                          [](Nanoseconds at, const Found* found) { return at < found->start; });
      if (after == units->second.begin()) continue;
      Found& found = **(after - 1);
      if (call.start < found.end) found.unit.time += time->second;
    }
    return true;
  }

  UnitStep kernels(UnitStep step) const {
    step.on_device = true;
    for (const DeviceWork& work : recording_.work) {
      if (work.start < begin_ || work.start >= end_) continue;
      const std::string& name = recording_.names.at(work.name);
      const bool kernel = work.kind == DeviceWorkKind::kKernel;
      const UnitClass sort = kernel                               ? class_of_kernel(name)
                             : work.kind == DeviceWorkKind::kCopy ? UnitClass::kTransfer
                                                                  : UnitClass::kOther;
      step.units.push_back({.sort = sort, .name = name, .time = work.end - work.start});
    }
    return step;
  }

  const Recording& recording_;
  Nanoseconds begin_;
  Nanoseconds end_;
  std::map<std::uint32_t, std::vector<Open>> open_;
  std::vector<Found> found_;
};

struct Window {
  std::string name;
  Nanoseconds begin;
  Nanoseconds end;
};

/// From the end of the update before the last one to the end of the last.
std::optional<Window> between_updates(const Recording& recording) {
  std::vector<Nanoseconds> ends;
  for (const MarkedRange& range : recording.ranges) {
    if (recording.names.at(range.name).starts_with(kUpdate)) ends.push_back(range.end);
  }
  if (ends.size() < 2) return std::nullopt;
  return Window{"between the last two updates", ends[ends.size() - 2], ends.back()};
}

Window window_of(const Recording& recording) {
  if (const auto steps = marked_steps(recording); !steps.empty())
    return {steps.back().name, steps.back().start, steps.back().end};
  if (auto window = between_updates(recording)) return *window;
  auto [first, last] = span_of(recording);
  if (recording.work.empty() && recording.calls.empty()) first = Nanoseconds(INT64_MAX);
  for (const MarkedRange& range : recording.ranges) {
    first = std::min(first, range.start);
    last = std::max(last, range.end);
  }
  return {"the whole recording", first, last + Nanoseconds(1)};
}

}  // namespace

UnitStep units_of_recording(const Recording& recording) {
  const Window window = window_of(recording);
  UnitStep step = Collector(recording, window.begin, window.end).collect();
  step.step = window.name;
  step.duration = window.end - window.begin;
  merge_runs(step.units);
  return step;
}

}  // namespace plimsoll
