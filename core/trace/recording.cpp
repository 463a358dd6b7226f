#include "core/trace/recording.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace plimsoll {
namespace {

template <typename Stretch>
void sort_stretches(std::vector<Stretch>& list) {
  const auto before = [](const Stretch& a, const Stretch& b) { return std::tie(a.start, a.end) < std::tie(b.start, b.end); };
  if (!std::is_sorted(list.begin(), list.end(), before)) std::stable_sort(list.begin(), list.end(), before);
}

template <typename Moment>
void sort_moments(std::vector<Moment>& list) {
  std::stable_sort(list.begin(), list.end(), [](const Moment& a, const Moment& b) { return a.time < b.time; });
}

/// Names by which frameworks mark a step; a number or other text follows.
bool names_a_step(std::string_view name) {
  for (const std::string_view prefix : {"ProfilerStep#", "ProfilerStep", "step ", "Step ", "iteration ", "plimsoll step "}) {
    const bool digit_follows = name.size() > prefix.size() && name[prefix.size()] >= '0' && name[prefix.size()] <= '9';
    if (name.substr(0, prefix.size()) == prefix && digit_follows) return true;
  }
  return false;
}

}  // namespace

NameId NamePool::add(std::string_view text) {
  const auto known = ids_.find(text);
  if (known != ids_.end()) return NameId(known->second);
  const auto id = static_cast<std::uint32_t>(texts_.size());
  texts_.emplace_back(text);
  ids_.emplace(texts_.back(), id);
  return NameId(id);
}

std::uint32_t Recording::thread(std::uint32_t process, std::int64_t id) {
  for (std::size_t i = threads.size(); i-- > 0;) {
    if (threads[i].process == process && threads[i].thread == id) return static_cast<std::uint32_t>(i);
  }
  threads.push_back({.process = process, .thread = id, .name = {}});
  return static_cast<std::uint32_t>(threads.size() - 1);
}

void Recording::sort() {
  sort_stretches(work);
  sort_stretches(calls);
  sort_stretches(waits);
  sort_stretches(ranges);
  sort_moments(allocations);
  sort_moments(readings);
}

void Recording::lose(std::string_view what, std::uint64_t count) {
  if (count == 0) return;
  for (RecordingLoss& loss : losses) {
    if (loss.what != what) continue;
    loss.count += count;
    return;
  }
  losses.push_back({.what = std::string(what), .count = count});
}

std::vector<RecordedStep> marked_steps(const Recording& recording) {
  std::vector<RecordedStep> steps;
  for (const MarkedRange& range : recording.ranges) {
    const std::string& name = recording.names.at(range.name);
    if (range.kind != RangeKind::kAnnotation || !names_a_step(name)) continue;
    if (!steps.empty() && range.start < steps.back().end) continue;  // the same step, marked on another thread
    steps.push_back({.name = name, .start = range.start, .end = range.end});
  }
  return steps;
}

std::pair<Nanoseconds, Nanoseconds> span_of(const Recording& recording) {
  Nanoseconds first(INT64_MAX);
  Nanoseconds last(INT64_MIN);
  const auto widen = [&](const auto& list) {
    for (const auto& item : list) {
      first = std::min(first, item.start);
      last = std::max(last, item.end);
    }
  };
  widen(recording.work);
  widen(recording.calls);
  if (last < first) return {};
  return {first, last};
}

std::string_view to_text(DeviceWorkKind kind) {
  switch (kind) {
    case DeviceWorkKind::kKernel: return "kernel";
    case DeviceWorkKind::kCopy: return "copy";
    case DeviceWorkKind::kFill: return "fill";
  }
  return "?";
}

std::string_view copy_kind_text(std::uint8_t kind) {
  static constexpr std::array<std::string_view, 11> kTexts{"unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                                           "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};
  return kind < kTexts.size() ? kTexts[kind] : kTexts[0];
}

}  // namespace plimsoll
