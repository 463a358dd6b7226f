#include "gui/compare/matched_ops.h"

#include <algorithm>
#include <cstdlib>
#include <map>

namespace plimsoll::gui {
namespace {

/// Calls visit(id, start since the step's begin, duration) for the events of a step.
template <typename Visit>
void for_each_of_step(const Timeline& timeline, std::uint32_t step, const Visit& visit) {
  const StepMark* mark = timeline.step(step);
  const std::int64_t begin = mark == nullptr ? 0 : mark->begin;
  for (const TimelineTrack& track : timeline.tracks) {
    for (const EventLane& lane : track.lanes) {
      for (std::size_t i = 0; i < lane.size(); ++i) {
        if (lane.step(i) == step) visit(lane.label(i), lane.start(i) - begin, lane.duration(i));
      }
    }
  }
}

std::int64_t size_of(const MatchedOp& op) { return std::abs(op.difference()); }

}  // namespace

std::vector<MatchedOp> match_ops(const Timeline& first, std::uint32_t first_step, const Timeline& second,
                                 std::uint32_t second_step) {
  std::map<std::uint32_t, MatchedOp> by_id;
  const auto entry = [&](std::uint32_t id) -> MatchedOp& {
    return by_id.try_emplace(id, MatchedOp{.instruction = id}).first->second;
  };
  for_each_of_step(first, first_step, [&](std::uint32_t id, std::int64_t start, std::int64_t duration) {
    entry(id).first_start = start;
    entry(id).first_duration = duration;
  });
  for_each_of_step(second, second_step, [&](std::uint32_t id, std::int64_t start, std::int64_t duration) {
    entry(id).second_start = start;
    entry(id).second_duration = duration;
  });
  std::vector<MatchedOp> ops;
  for (const auto& [id, op] : by_id) ops.push_back(op);
  return ops;
}

std::vector<MatchedClass> add_up(const Timeline& first, std::uint32_t first_step, const Timeline& second, std::uint32_t second_step) {
  std::map<std::string, MatchedClass> by_name;
  const auto add = [&](const Timeline& timeline, std::uint32_t step, std::uint64_t MatchedClass::*count, std::int64_t MatchedClass::*total) {
    for_each_of_step(timeline, step, [&](std::uint32_t id, std::int64_t, std::int64_t duration) {
      MatchedClass& sum = by_name[timeline.name_of(id)];
      sum.name = timeline.name_of(id);
      sum.paint = timeline.labels[id].paint;
      ++(sum.*count);
      sum.*total += duration;
    });
  };
  add(first, first_step, &MatchedClass::first_count, &MatchedClass::first_total);
  add(second, second_step, &MatchedClass::second_count, &MatchedClass::second_total);
  std::vector<MatchedClass> classes;
  for (const auto& [name, sum] : by_name) classes.push_back(sum);
  std::stable_sort(classes.begin(), classes.end(), [](const MatchedClass& a, const MatchedClass& b) {
    return std::abs(a.difference()) > std::abs(b.difference());
  });
  return classes;
}

std::optional<std::uint32_t> worst_divergence(const std::vector<MatchedOp>& ops) {
  const MatchedOp* worst = nullptr;
  for (const MatchedOp& op : ops) {
    if (op.in_both() && (worst == nullptr || size_of(op) > size_of(*worst))) worst = &op;
  }
  return worst == nullptr ? std::nullopt : std::optional(worst->instruction);
}

std::optional<std::uint32_t> first_divergence(const std::vector<MatchedOp>& ops, std::int64_t step) {
  const MatchedOp* first = nullptr;
  for (const MatchedOp& op : ops) {
    const bool diverges = op.in_both() && size_of(op) * 10 > op.first_duration && size_of(op) * 1000 > step;
    if (diverges && (first == nullptr || *op.second_start < *first->second_start)) first = &op;
  }
  return first == nullptr ? std::nullopt : std::optional(first->instruction);
}

}  // namespace plimsoll::gui
