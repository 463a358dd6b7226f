#include "sim/planner/ranks/exchange_samples.h"

#include <algorithm>
#include <map>
#include <optional>

#include "core/plan/order_ranks.h"
#include "sim/des/exchange_traffic.h"
#include "sim/sampling/typical_steps.h"

namespace plimsoll {
namespace {

using Events = std::map<std::pair<std::uint32_t, std::uint32_t>, const TraceEvent*>;  ///< by step and instruction

std::vector<Events> events_of(std::span<const Trace> traces) {
  std::vector<Events> events(traces.size());
  for (std::size_t rank = 0; rank < traces.size(); ++rank) {
    for (const TraceEvent& event : traces[rank].events) {
      if (event.status == EventStatus::kMeasured) events[rank][{event.step, event.instruction}] = &event;
    }
  }
  return events;
}

struct Span {
  Nanoseconds start, end;
};

/// From the last one's start to the last one's end; nothing where one of them was not traced.
std::optional<Span> span_of(const std::vector<JobInstruction>& members, const std::vector<Events>& events,
                                   std::uint32_t step) {
  std::optional<Nanoseconds> start, end;
  for (const JobInstruction& member : members) {
    const auto found = events[member.rank].find({step, member.instruction});
    if (found == events[member.rank].end()) return std::nullopt;
    start = std::max(start.value_or(found->second->start), found->second->start);
    end = std::max(end.value_or(found->second->end), found->second->end);
  }
  if (!start || *end <= *start) return std::nullopt;
  return Span{*start, *end};
}

/// The times of a rank's kernels, one after another.
std::vector<Span> kernels_of(const FlatBody& body, const Trace& trace) {
  std::vector<Span> kernels;
  for (const TraceEvent& event : trace.events) {
    if (body.list.instructions[event.instruction].kind == InstructionKind::kLaunch) kernels.push_back({event.start, event.end});
  }
  std::sort(kernels.begin(), kernels.end(), [](const Span& a, const Span& b) { return a.start < b.start; });
  return kernels;
}

/// Whether the rank computes for more than a tenth of that time.
bool computes_during(const std::vector<Span>& kernels, const Span& span) {
  Nanoseconds busy;
  auto next = std::lower_bound(kernels.begin(), kernels.end(), span.start,
                               [](const Span& kernel, Nanoseconds time) { return kernel.end < time; });
  for (; next != kernels.end() && next->start < span.end; ++next) {
    busy += std::min(next->end, span.end) - std::max(next->start, span.start);
  }
  return busy * 10 > span.end - span.start;
}

}  // namespace

Result<std::vector<Sample>> exchange_samples(std::span<const Plan> plans, std::span<const Trace> traces) {
  std::vector<Sample> samples;
  const auto link = plans[0].platform.link_to_ranks();
  if (!link) return samples;
  const auto order = order_ranks(plans);
  if (!order) return fail(order.error());
  const std::vector<Events> events = events_of(traces);
  std::vector<std::vector<Span>> kernels;
  for (std::size_t rank = 0; rank < plans.size(); ++rank) kernels.push_back(kernels_of(order->bodies[rank], traces[rank]));
  for (const JobInstruction& next : order->order) {
    const auto& members = order->others[next.rank][next.instruction];
    if (!next.arrives || members.empty() || next.rank != members.front().rank) continue;  // each exchange once
    const Plan& plan = plans[next.rank];
    const FlatBody& body = order->bodies[next.rank];
    const Instruction& of = body.list.instructions[next.instruction];
    const ExchangeTraffic traffic = traffic_of(plan.at(of.exchange), body.uses(of));
    for (const std::uint32_t step : typical_steps(traced_steps(traces[0]))) {
      const auto span = span_of(members, events, step);
      if (!span) continue;
      samples.push_back({.key = transfer_key(plan.platform, plan.platform.at(*link), traffic.bytes),
                         .duration = Nanoseconds((span->end - span->start).count / traffic.rounds),
                         .plan_digest = traces[next.rank].plan_digest,
                         .contended = std::any_of(members.begin(), members.end(), [&](const JobInstruction& member) {
                           return computes_during(kernels[member.rank], *span);
                         })});
    }
  }
  return samples;
}

}  // namespace plimsoll
