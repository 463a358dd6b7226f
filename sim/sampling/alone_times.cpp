#include "sim/sampling/alone_times.h"

#include <algorithm>

#include "core/plan/transfers.h"
#include "sim/des/fair_share.h"

namespace plimsoll {
namespace {

constexpr double kSlowed = 1 - 1e-9;
constexpr std::int64_t kNoticeable = 20;

/// An event begins or ends.
struct Edge {
  Nanoseconds time;
  bool begins = false;
  std::size_t event = 0;
};

class Untangler {
 public:
  Untangler(const Plan& plan, const FlatBody& body, const Trace& trace) : plan_(plan), trace_(trace), shares_(plan.platform.resources) {
    for (const Link& link : plan.platform.links) fastest_link_ = std::max(fastest_link_, link.bytes_per_second);
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
      const TraceEvent& event = trace.events[i];
      instructions_.push_back(&body.list.instructions[event.instruction]);
      links_.push_back(is_transfer(instructions_[i]->kind) ? link_of(plan, body, *instructions_[i]) : nullptr);
      alone_.push_back({.duration = event.end - event.start});
    }
    find_edges();
  }

  std::vector<AloneTime> untangle() {
    sweep();
    return std::move(alone_);
  }

 private:
  [[nodiscard]] Nanoseconds measured(std::size_t i) const { return trace_.events[i].end - trace_.events[i].start; }

  void find_edges() {
    find_demands();
    for (std::size_t i = 0; i < alone_.size(); ++i) {
      if (demands_[i].empty() || measured(i) <= Nanoseconds(0)) continue;
      edges_.push_back({.time = trace_.events[i].start, .begins = true, .event = i});
      edges_.push_back({.time = trace_.events[i].end, .begins = false, .event = i});
    }
    std::stable_sort(edges_.begin(), edges_.end(), [](const Edge& a, const Edge& b) {
      return a.time != b.time ? a.time < b.time : a.begins < b.begins;  // at one moment ends come first
    });
  }

  /// A transfer wants of its way what the link gives one alone, as the simulator has it. An exchange that was traced may only have
  /// waited for other ranks, and wants nothing.
  void find_demands() {
    demands_.resize(alone_.size());
    weights_.resize(alone_.size());
    for (std::size_t i = 0; i < alone_.size(); ++i) {
      if (instructions_[i]->kind == InstructionKind::kCollective) continue;
      const Queue& queue = plan_.platform.at(instructions_[i]->queue);
      demands_[i] = queue.demands;
      weights_[i] = queue.weight;
      if (links_[i] == nullptr || links_[i]->bytes_per_second <= 0) continue;
      const double rate = links_[i]->bytes_per_second;
      for (const Demand& demand : links_[i]->path) add_demand(demands_[i], {demand.resource, demand.amount * rate});
      weights_[i] *= fastest_link_ / rate;
    }
  }

  void sweep() {
    std::vector<double> alone(alone_.size(), 0.0), slowed(alone_.size(), 0.0);
    std::vector<std::size_t> running;
    Nanoseconds since;
    for (const Edge& edge : edges_) {
      if (edge.time > since && !running.empty()) pass(running, static_cast<double>((edge.time - since).count), alone, slowed);
      since = edge.time;
      if (edge.begins) {
        running.push_back(edge.event);
      } else {
        std::erase(running, edge.event);
      }
    }
    for (std::size_t i = 0; i < alone_.size(); ++i) {
      if (demands_[i].empty() || measured(i) <= Nanoseconds(0)) continue;
      alone_[i].duration = Nanoseconds(std::max<std::int64_t>(1, static_cast<std::int64_t>(alone[i] + 0.5)));
      alone_[i].contended = slowed[i] * static_cast<double>(kNoticeable) > static_cast<double>(measured(i).count);
    }
  }

  void pass(const std::vector<std::size_t>& running, double nanoseconds, std::vector<double>& alone, std::vector<double>& slowed) {
    activities_.clear();
    for (const std::size_t i : running) activities_.push_back({demands_[i], weights_[i]});
    speeds_.assign(running.size(), 1.0);
    if (running.size() > 1) shares_.solve(activities_, speeds_);
    for (std::size_t k = 0; k < running.size(); ++k) {
      alone[running[k]] += speeds_[k] * nanoseconds;
      if (speeds_[k] < kSlowed) slowed[running[k]] += nanoseconds;
    }
  }

  const Plan& plan_;
  const Trace& trace_;
  FairShare shares_;
  double fastest_link_ = 0;
  std::vector<const Instruction*> instructions_;  ///< of each event
  std::vector<const Link*> links_;                ///< of each event, or null
  std::vector<std::vector<Demand>> demands_;
  std::vector<double> weights_;
  std::vector<AloneTime> alone_;
  std::vector<Edge> edges_;
  std::vector<Activity> activities_;
  std::vector<double> speeds_;
};

}  // namespace

std::vector<AloneTime> alone_times(const Plan& plan, const FlatBody& body, const Trace& trace) {
  return Untangler(plan, body, trace).untangle();
}

}  // namespace plimsoll
