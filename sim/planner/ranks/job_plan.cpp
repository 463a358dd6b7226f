#include "sim/planner/ranks/job_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/des/simulate.h"

namespace plimsoll {
namespace {

/// Where one rank's tables begin in the job's.
struct Offsets {
  std::size_t spaces = 0, processors = 0, queues = 0, kernels = 0, exchanges = 0, buffers = 0;
};

template <typename Id>
Id moved(Id id, std::size_t by) {
  return id.valid() ? Id(static_cast<std::size_t>(id.index) + by) : id;
}

class Joiner {
 public:
  Joiner(std::span<const Plan> plans, const JobOrder& order) : plans_(plans), order_(order) {}

  JobPlan run() {
    job_.plan.spec = plans_[0].spec;
    job_.plan.recipe = plans_[0].recipe;
    job_.plan.strategy = plans_[0].strategy;
    job_.plan.ranks = static_cast<std::uint32_t>(plans_.size());
    job_.plan.platform.name = plans_[0].platform.name;
    job_.plan.platform.resources = plans_[0].platform.resources;
    for (const Plan& plan : plans_) add_tables(plan);
    for (const JobInstruction& next : order_.order) add(next);
    name_later();
    const std::vector<Segment> segments{{0, 0, -1, "step"}};
    job_.plan.bodies.push_back(fold(job_.plan, "step", body_, segments));
    return std::move(job_);
  }

 private:
  void add_tables(const Plan& plan) {
    Plan& job = job_.plan;
    Platform& all = job.platform;
    Offsets at{all.spaces.size(),  all.processors.size(), all.queues.size(),
               job.kernels.size(), job.exchanges.size(),  job.buffers.size()};
    for (const MemorySpace& space : plan.platform.spaces) {
      all.spaces.push_back(space);
      all.spaces.back().name = fmt::format("{} of rank {}", space.name, plan.rank);
    }
    for (Processor processor : plan.platform.processors) {
      processor.space = moved(processor.space, at.spaces);
      all.processors.push_back(std::move(processor));
    }
    for (Link link : plan.platform.links) {
      link.from = moved(link.from, at.spaces);
      link.to = moved(link.to, at.spaces);
      all.links.push_back(std::move(link));
    }
    for (Queue queue : plan.platform.queues) {
      queue.name = fmt::format("{} of rank {}", queue.name, plan.rank);
      queue.processor = moved(queue.processor, at.processors);
      queue.rank = plan.rank;
      all.queues.push_back(std::move(queue));
    }
    job.kernels.insert(job.kernels.end(), plan.kernels.begin(), plan.kernels.end());
    job.exchanges.insert(job.exchanges.end(), plan.exchanges.begin(), plan.exchanges.end());
    for (Buffer buffer : plan.buffers) {
      buffer.space = moved(buffer.space, at.spaces);
      job.buffers.push_back(std::move(buffer));
    }
    offsets_.push_back(at);
    ids_.emplace_back(order_.bodies[plan.rank].size(), 0u);
    arrivals_.emplace_back(order_.bodies[plan.rank].size(), 0u);
  }

  void add(const JobInstruction& next) {
    const FlatBody& of = order_.bodies[next.rank];
    const Offsets& at = offsets_[next.rank];
    const Instruction& own = of.list.instructions[next.instruction];
    const auto id = static_cast<std::uint32_t>(body_.size());
    Instruction made = own;
    made.queue = moved(own.queue, at.queues);
    made.kernel = moved(own.kernel, at.kernels);
    made.exchange = moved(own.exchange, at.exchanges);
    made.member_count = 0;
    made.layer = -1;
    if (next.arrives) {
      made.kind = InstructionKind::kMarker;
      made.exchange = {};
      made.use_count = 0;
    }
    (next.arrives ? arrivals_ : ids_)[next.rank][next.instruction] = id;
    made.first_use = made.use_count == 0 ? 0 : static_cast<std::uint32_t>(body_.list.uses.size());
    for (Use use : of.uses(own).first(made.use_count)) {
      use.target += static_cast<std::uint32_t>(at.buffers);
      body_.list.uses.push_back(use);
    }
    add_dependencies(next, own, made);
    body_.list.instructions.push_back(made);
    body_.micro_batches.push_back(0);
    job_.origin.push_back(next);
  }

  void add_dependencies(const JobInstruction& next, const Instruction& own, Instruction& made) {
    std::vector<Dependency> dependencies;
    const bool last_half = own.exchange.valid() && !next.arrives;
    if (last_half) {
      for (const JobInstruction& other : order_.others[next.rank][next.instruction]) {
        dependencies.push_back({arrivals_[other.rank][other.instruction]});
      }
    } else {
      for (Dependency dependency : order_.bodies[next.rank].dependencies(own)) {
        if (dependency.distance == 0)
          dependency.target = ids_[next.rank][dependency.target];
        else
          later_.push_back({body_.list.dependencies.size() + dependencies.size(), next.rank});
        dependencies.push_back(dependency);
      }
    }
    made.dependency_count = static_cast<std::uint32_t>(dependencies.size());
    made.first_dependency = dependencies.empty() ? 0 : static_cast<std::uint32_t>(body_.list.dependencies.size());
    body_.list.dependencies.insert(body_.list.dependencies.end(), dependencies.begin(), dependencies.end());
  }

  /// What waits for a step before names ids that are known only in the end.
  void name_later() {
    for (const auto& [place, rank] : later_) {
      Dependency& dependency = body_.list.dependencies[place];
      dependency.target = ids_[rank][dependency.target];
    }
  }

  std::span<const Plan> plans_;
  const JobOrder& order_;
  JobPlan job_;
  FlatBody body_;
  std::vector<Offsets> offsets_;
  std::vector<std::vector<std::uint32_t>> ids_, arrivals_;  ///< by rank and instruction
  std::vector<std::pair<std::size_t, std::uint32_t>> later_;
};

}  // namespace

JobPlan join_plans(std::span<const Plan> plans, const JobOrder& order) { return Joiner(plans, order).run(); }

Result<JobTrace> simulate_ranks(std::span<const Plan> plans, const CostModel& costs, std::uint32_t steps) {
  const auto order = order_ranks(plans);
  if (!order) return fail(order.error());
  const JobPlan job = join_plans(plans, *order);
  auto trace = simulate(job.plan, "step", costs, {.steps = steps});
  if (!trace) return fail(trace.error());
  JobTrace result;
  result.ranks.resize(plans.size(), Trace{.kind = TraceKind::kPredicted, .source = trace->source});
  for (TraceEvent event : trace->events) {
    const JobInstruction& origin = job.origin[event.instruction];
    if (origin.arrives) continue;
    event.instruction = origin.instruction;
    result.ranks[origin.rank].events.push_back(event);
  }
  for (Trace& rank : result.ranks) {
    std::sort(rank.events.begin(), rank.events.end(), [](const TraceEvent& a, const TraceEvent& b) {
      return std::pair(a.step, a.instruction) < std::pair(b.step, b.instruction);
    });
    rank.steps = trace->steps;
    for (StepSummary& step : rank.steps) step.end = Nanoseconds(0);
    for (const TraceEvent& event : rank.events) {
      Nanoseconds& end = rank.steps[event.step].end;
      end = std::max(end, event.end);
    }
  }
  return result;
}

namespace {

Nanoseconds end_of_step(std::span<const Trace> traces, std::uint32_t step) {
  Nanoseconds end;
  for (const Trace& trace : traces) {
    for (const StepSummary& summary : trace.steps) {
      if (summary.step == step) end = std::max(end, summary.end);
    }
  }
  return end;
}

}  // namespace

Nanoseconds step_of(std::span<const Trace> traces, std::uint32_t first, std::uint32_t last) {
  const Nanoseconds begin = first == 0 ? Nanoseconds(0) : end_of_step(traces, first - 1);
  return Nanoseconds((end_of_step(traces, last) - begin).count / (last - first + 1));
}

double bubble_of(std::span<const Plan> plans, std::span<const Trace> traces, std::uint32_t first, std::uint32_t last) {
  Nanoseconds busy;
  for (std::size_t rank = 0; rank < plans.size(); ++rank) {
    const FlatBody body = expand(plans[rank], *plans[rank].body("step"));
    for (const TraceEvent& event : traces[rank].events) {
      const bool counts = event.step >= first && event.step <= last;
      if (counts && body.list.instructions[event.instruction].kind == InstructionKind::kLaunch) busy += event.end - event.start;
    }
  }
  const auto steps = static_cast<std::int64_t>(last - first + 1);
  const Nanoseconds whole = step_of(traces, first, last) * steps * static_cast<std::int64_t>(plans.size());
  return whole.count > 0 ? 1 - to_seconds(busy) / to_seconds(whole) : 0;
}

}  // namespace plimsoll
