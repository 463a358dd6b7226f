#include "sim/memory/ledger.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "core/trace/step_window.h"

namespace plimsoll {
namespace {

/// One slot of a buffer during one step.
struct Stay {
  BufferId buffer;
  Nanoseconds begin;
  Nanoseconds end;
};

/// Some bytes that become live (positive) or free (negative).
struct Change {
  Nanoseconds time;
  BufferId buffer;
  Bytes bytes;
};

/// Times each non-persistent buffer that the events of one step use, clipped to [begin, end); empty stays are left out.
class StayCollector {
 public:
  StayCollector(const Plan& plan, const FlatBody& body) : plan_(plan), body_(body), stays_(plan.buffers.size()) {}

  void add_step(std::span<const TraceEvent> events, Nanoseconds begin, Nanoseconds end, std::vector<Stay>& found) {
    touched_.clear();
    for (const TraceEvent& event : events) {
      for (const Use& use : body_.uses(body_.list.instructions[event.instruction])) extend(use.target, event);
    }
    for (const std::uint32_t buffer : touched_) {
      Stay& stay = stays_[buffer];
      const Stay inside{stay.buffer, std::max(stay.begin, begin), std::min(stay.end, end)};
      if (inside.begin < inside.end) found.push_back(inside);
      stay.buffer = BufferId{};
    }
  }

 private:
  void extend(std::uint32_t buffer, const TraceEvent& event) {
    if (plan_.buffers[buffer].persistent) return;
    Stay& stay = stays_[buffer];
    if (!stay.buffer.valid()) {
      stay = {BufferId(buffer), event.start, event.end};
      touched_.push_back(buffer);
    }
    stay.begin = std::min(stay.begin, event.start);
    stay.end = std::max(stay.end, event.end);
  }

  const Plan& plan_;
  const FlatBody& body_;
  std::vector<Stay> stays_;  ///< by buffer; scratch
  std::vector<std::uint32_t> touched_;
};

std::vector<Stay> collect_stays(const Plan& plan, const FlatBody& body, std::span<const TraceEvent> events,
                                Nanoseconds begin, Nanoseconds end) {
  std::vector<Stay> stays;
  StayCollector collector(plan, body);
  for (auto first = events.begin(); first != events.end();) {
    const auto next = std::find_if(first, events.end(), [&](const TraceEvent& e) { return e.step != first->step; });
    collector.add_step({first, next}, begin, end, stays);
    first = next;
  }
  return stays;
}

Bytes& live_of(LiveBytes& live, const Buffer& buffer) { return live[static_cast<std::size_t>(buffer.category)]; }

/// The persistent part of every space, as the first point of its curve.
std::vector<SpaceLedger> persistent_part(const Plan& plan, Nanoseconds begin) {
  std::vector<SpaceLedger> spaces;
  for (std::size_t i = 0; i < plan.platform.spaces.size(); ++i) {
    spaces.push_back({.space = SpaceId(i), .packed = plan.arena_bytes(SpaceId(i)), .curve = {{.time = begin}}});
  }
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.persistent)
      live_of(spaces[buffer.space.index].curve.front().live, buffer) += buffer.bytes * buffer.slots;
  }
  return spaces;
}

/// Changes by time; what ends at a moment is free before what begins then is live.
std::vector<Change> changes_of(const Plan& plan, const std::vector<Stay>& stays) {
  std::vector<Change> changes;
  changes.reserve(2 * stays.size());
  for (const Stay& stay : stays) {
    const Bytes bytes = plan.at(stay.buffer).bytes;
    changes.push_back({stay.begin, stay.buffer, bytes});
    changes.push_back({stay.end, stay.buffer, Bytes(-bytes.count)});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return std::tie(a.time, a.bytes, a.buffer) < std::tie(b.time, b.bytes, b.buffer);
  });
  return changes;
}

void apply(const Plan& plan, const std::vector<Change>& changes, std::vector<SpaceLedger>& spaces) {
  for (const Change& change : changes) {
    const Buffer& buffer = plan.at(change.buffer);
    std::vector<LedgerPoint>& curve = spaces[buffer.space.index].curve;
    if (curve.back().time != change.time) curve.push_back({change.time, curve.back().live});
    live_of(curve.back().live, buffer) += change.bytes;
  }
}

void find_peak(const Plan& plan, const std::vector<Stay>& stays, SpaceLedger& ledger) {
  ledger.peak =
      *std::max_element(ledger.curve.begin(), ledger.curve.end(),
                        [](const LedgerPoint& a, const LedgerPoint& b) { return total(a.live) < total(b.live); });
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    if (plan.buffers[i].persistent && plan.buffers[i].space == ledger.space) ledger.live_at_peak.push_back(BufferId(i));
  }
  for (const Stay& stay : stays) {
    const bool live = stay.begin <= ledger.peak.time && ledger.peak.time < stay.end;
    if (live && plan.at(stay.buffer).space == ledger.space) ledger.live_at_peak.push_back(stay.buffer);
  }
  std::sort(ledger.live_at_peak.begin(), ledger.live_at_peak.end());
  ledger.live_at_peak.erase(std::unique(ledger.live_at_peak.begin(), ledger.live_at_peak.end()),
                            ledger.live_at_peak.end());
}

MemoryLedger ledger_between(const Plan& plan, const FlatBody& body, std::span<const TraceEvent> events,
                            Nanoseconds begin, Nanoseconds end) {
  const std::vector<Stay> stays = collect_stays(plan, body, events, begin, end);
  MemoryLedger ledger{.begin = begin, .end = end, .spaces = persistent_part(plan, begin)};
  apply(plan, changes_of(plan, stays), ledger.spaces);
  for (SpaceLedger& space : ledger.spaces) find_peak(plan, stays, space);
  return ledger;
}

}  // namespace

Bytes total(const LiveBytes& live) { return std::accumulate(live.begin(), live.end(), Bytes(0)); }

MemoryLedger memory_ledger(const Plan& plan, const FlatBody& body, const Trace& trace, std::uint32_t step) {
  const StepWindow window = step_window(trace, step);
  return ledger_between(plan, body, events_around_step(trace, step), window.begin, window.end);
}

MemoryLedger memory_ledger_of_run(const Plan& plan, const FlatBody& body, const Trace& trace) {
  if (trace.events.empty()) return ledger_between(plan, body, {}, Nanoseconds(0), Nanoseconds(0));
  Nanoseconds begin = trace.events.front().start;
  Nanoseconds end = begin;
  for (const TraceEvent& event : trace.events) {
    begin = std::min(begin, event.start);
    end = std::max(end, event.end);
  }
  return ledger_between(plan, body, trace.events, begin, end);
}

std::vector<SpacePeak> memory_peaks(const Plan& plan, const MemoryLedger& ledger) {
  std::vector<SpacePeak> peaks;
  for (const Arena& arena : plan.arenas) {
    SpacePeak peak{.space = arena.space, .bytes = arena.bytes};
    const LiveBytes& live = ledger.spaces[arena.space.index].peak.live;
    for (std::size_t kind = 0; kind < kTensorKinds; ++kind) {
      if (live[kind].count != 0) peak.by_category.emplace_back(static_cast<TensorKind>(kind), live[kind]);
    }
    peaks.push_back(std::move(peak));
  }
  return peaks;
}

}  // namespace plimsoll
