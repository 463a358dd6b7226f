#include "sim/cost/contention.h"

#include <algorithm>

namespace plimsoll {
namespace {

constexpr double kRounding = 1e-9;
constexpr std::int64_t kNoticeable = 20;

/// What one event asks of one resource.
struct Claim {
  std::size_t event = 0;
  double amount = 0;
};

/// A moment at which a claim begins or ends.
struct Edge {
  Nanoseconds time;
  bool begins = false;
  Claim claim;
};

/// Adds to `overloaded` the time during which the claims together exceed `capacity`, for every event that is running
/// then.
void sweep(std::vector<Edge>& edges, double capacity, std::vector<Nanoseconds>& overloaded) {
  std::stable_sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
    return a.time != b.time ? a.time < b.time : a.begins < b.begins;  // at one moment ends come first
  });
  std::vector<Claim> running;
  Nanoseconds since;
  for (const auto& edge : edges) {
    double sum = 0;
    bool several = false;
    for (const auto& claim : running) {
      sum += claim.amount;
      several = several || claim.event != running.front().event;
    }
    if (several && sum > capacity * (1 + kRounding)) {
      for (const auto& claim : running) overloaded[claim.event] += edge.time - since;
    }
    since = edge.time;
    if (edge.begins) {
      running.push_back(edge.claim);
    } else {
      std::erase_if(running, [&](const Claim& claim) { return claim.event == edge.claim.event; });
    }
  }
}

}  // namespace

const Link* link_of(const Plan& plan, const FlatBody& body, const Instruction& instruction) {
  const auto uses = body.uses(instruction);
  if (uses.size() < 2) return nullptr;
  const auto id = plan.platform.link(plan.at(BufferId(uses[0].target)).space, plan.at(BufferId(uses[1].target)).space);
  return id ? &plan.platform.at(*id) : nullptr;
}

std::vector<bool> contended_events(const Plan& plan, const FlatBody& body, const Trace& trace) {
  std::vector<std::vector<Edge>> edges(plan.platform.resources.size());
  const auto claim = [&](std::size_t i, const Demand& demand, double rate) {
    const auto& event = trace.events[i];
    if (event.end <= event.start) return;
    auto& of_resource = edges[demand.resource.index];
    of_resource.push_back({.time = event.start, .begins = true, .claim = {.event = i, .amount = demand.amount * rate}});
    of_resource.push_back({.time = event.end, .begins = false, .claim = {.event = i}});
  };
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const auto& instruction = body.list.instructions[trace.events[i].instruction];
    for (const auto& demand : plan.platform.at(instruction.queue).demands) claim(i, demand, 1.0);
    const bool transfer = instruction.kind == InstructionKind::kCopy || instruction.kind == InstructionKind::kRead ||
                          instruction.kind == InstructionKind::kWrite;
    const Link* link = transfer ? link_of(plan, body, instruction) : nullptr;
    if (link == nullptr) continue;
    for (const auto& demand : link->path) claim(i, demand, link->bytes_per_second);
  }
  std::vector<Nanoseconds> overloaded(trace.events.size());
  for (std::size_t r = 0; r < edges.size(); ++r) sweep(edges[r], plan.platform.resources[r].capacity, overloaded);
  std::vector<bool> contended;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    contended.push_back(overloaded[i] * kNoticeable > trace.events[i].end - trace.events[i].start);
  }
  return contended;
}

}  // namespace plimsoll
