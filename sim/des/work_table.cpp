#include "sim/des/work_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "core/plan/transfers.h"
#include "sim/des/exchange_traffic.h"

namespace plimsoll {
namespace {

/// What makes two instructions the same work; `a`, `b` are a kernel, a pair of spaces or a task.
struct WorkKey {
  InstructionKind kind = InstructionKind::kMarker;
  QueueId queue;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  Bytes bytes;

  auto operator<=>(const WorkKey&) const = default;
};

class WorkTableBuilder {
 public:
  WorkTableBuilder(const Plan& plan, const FlatBody& body, const CostModel& costs)
      : plan_(plan), body_(body), costs_(costs), launches_(plan.platform.queues.size() * plan.kernels.size(), kNone) {
    for (const Link& link : plan.platform.links) fastest_link_ = std::max(fastest_link_, link.bytes_per_second);
  }

  Result<WorkTable> build() {
    table_.work_of.reserve(body_.size());
    for (std::size_t id = 0; id < body_.size(); ++id) {
      const Instruction& instruction = body_.list.instructions[id];
      Result<std::uint32_t> work = find(instruction);
      if (!work) {
        Error error = std::move(work.error());
        if (error.where.empty()) error.where = fmt::format("instruction {} ({})", id, to_text(instruction.kind));
        return fail(std::move(error));
      }
      table_.work_of.push_back(*work);
    }
    return std::move(table_);
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;

  /// Launches are nearly all of a plan, so they are found by index; the rest by key.
  Result<std::uint32_t> find(const Instruction& instruction) {
    if (instruction.kind == InstructionKind::kLaunch) {
      return find_in(launches_[instruction.queue.index * plan_.kernels.size() + instruction.kernel.index], instruction);
    }
    if (is_transfer(instruction.kind) && instruction.use_count < 2) {
      return fail({ErrorKind::kDefect, "a transfer needs a source and a destination", "", ""});
    }
    return find_in(others_.try_emplace(key_of(instruction), kNone).first->second, instruction);
  }

  Result<std::uint32_t> find_in(std::uint32_t& known, const Instruction& instruction) {
    if (known != kNone) return known;
    Result<Work> work = measure(instruction);
    if (!work) return fail(std::move(work.error()));
    table_.works.push_back(std::move(*work));
    return known = static_cast<std::uint32_t>(table_.works.size() - 1);
  }

  WorkKey key_of(const Instruction& instruction) const {
    WorkKey key{.kind = instruction.kind, .queue = instruction.queue};
    const std::span<const Use> uses = body_.uses(instruction);
    if (is_transfer(instruction.kind)) {
      key.a = space_of(uses[0]).index;
      key.b = space_of(uses[1]).index;
      key.bytes = uses[0].bytes;
    } else if (instruction.kind == InstructionKind::kHostWork) {
      key.a = static_cast<std::uint32_t>(instruction.task);
      key.bytes = touched(uses);
    } else if (instruction.exchange.valid()) {
      key.a = instruction.exchange.index;
      key.bytes = touched(uses);
    }
    return key;
  }

  SpaceId space_of(const Use& use) const { return plan_.buffers[use.target].space; }

  static Bytes touched(std::span<const Use> uses) {
    Bytes sum;
    for (const Use& use : uses) sum += use.bytes;
    return sum;
  }

  Result<Work> measure(const Instruction& instruction) const {
    const Queue& queue = plan_.platform.at(instruction.queue);
    Work work{.overhead = costs_.issue_overhead(plan_.platform, queue.kind)};
    switch (instruction.kind) {
      case InstructionKind::kLaunch:
      case InstructionKind::kHostWork:
        return held_by(queue, std::move(work), instruction);
      case InstructionKind::kCopy:
      case InstructionKind::kRead:
      case InstructionKind::kWrite:
        return moved_by(queue, std::move(work), body_.uses(instruction));
      case InstructionKind::kCollective:
        return exchanged_by(queue, std::move(work), instruction);
      case InstructionKind::kMarker:
        break;
    }
    return work;
  }

  Result<Work> held_by(const Queue& queue, Work work, const Instruction& instruction) const {
    if (!queue.processor.valid()) {
      return fail({ErrorKind::kDefect,
                   fmt::format("queue {} has no processor to run a {}", queue.name, to_text(instruction.kind)), "",
                   ""});
    }
    const Processor& processor = plan_.platform.at(queue.processor);
    const Result<Cost> cost = instruction.kind == InstructionKind::kLaunch
                                  ? costs_.kernel(processor, plan_.at(instruction.kernel))
                                  : costs_.host_work(processor, instruction.task, touched(body_.uses(instruction)));
    if (!cost) return fail(cost.error());
    work.duration = cost->median;
    work.demands = queue.demands;
    work.weight = queue.weight;
    return work;
  }

  Result<Work> moved_by(const Queue& queue, Work work, std::span<const Use> uses) const {
    const SpaceId from = space_of(uses[0]);
    const SpaceId to = space_of(uses[1]);
    const std::optional<LinkId> id = plan_.platform.link(from, to);
    if (!id && from == to && queue.processor.valid()) return copied_within(queue, std::move(work), from, uses[0].bytes);
    if (!id) {
      return fail({ErrorKind::kDefect,
                   fmt::format("no link leads from {} to {}", plan_.platform.at(from).name, plan_.platform.at(to).name),
                   "", ""});
    }
    const Link& link = plan_.platform.at(*id);
    const Result<Cost> cost = costs_.transfer(plan_.platform, link, uses[0].bytes);
    if (!cost) return fail(cost.error());
    work.latency = std::min(link.latency, cost->median);
    work.duration = cost->median - work.latency;
    if (work.duration.count <= 0 || uses[0].bytes.count <= 0) return work;

    const double rate = static_cast<double>(uses[0].bytes.count) / to_seconds(work.duration);
    work.demands = queue.demands;
    for (const Demand& demand : link.path) add_demand(work.demands, {demand.resource, demand.amount * rate});
    work.weight = queue.weight;
    if (fastest_link_ > 0) work.weight *= fastest_link_ / rate;
    return work;
  }

  /// Over the link to the other ranks' memory. All of a round's messages go at once, and share the link.
  Result<Work> exchanged_by(const Queue& queue, Work work, const Instruction& instruction) const {
    const std::optional<LinkId> id = plan_.platform.link_to_ranks();
    if (!instruction.exchange.valid() || !id) {
      return fail({ErrorKind::kUncalibrated, "no cost is known for a collective", "", "simulate a plan for one device"});
    }
    const Link& link = plan_.platform.at(*id);
    const ExchangeTraffic traffic = traffic_of(plan_.at(instruction.exchange), body_.uses(instruction));
    const Result<Cost> cost = costs_.transfer(plan_.platform, link, traffic.bytes);
    if (!cost) return fail(cost.error());
    work.latency = std::min(link.latency, cost->median);
    work.duration = (cost->median - work.latency) * traffic.rounds;
    work.latency = work.latency * traffic.rounds;
    work.demands = queue.demands;
    work.weight = queue.weight;
    return work;
  }

  /// Each byte is read and written; on a CPU one core copies. The queue holds what the processor's kernels hold.
  Result<Work> copied_within(const Queue& queue, Work work, SpaceId space, Bytes bytes) const {
    const Processor& processor = plan_.platform.at(queue.processor);
    const auto sharers = static_cast<double>(processor.kind == ProcessorKind::kCpu ? processor.cores : 1);
    const Link inside{.name = fmt::format("within {}", plan_.platform.at(space).name),
                      .from = space,
                      .to = space,
                      .bytes_per_second = processor.bytes_per_second / (2 * sharers)};
    const Result<Cost> cost = costs_.transfer(plan_.platform, inside, bytes);
    if (!cost) return fail(cost.error());
    work.duration = cost->median;
    work.demands = queue.demands;
    work.weight = queue.weight;
    return work;
  }

  const Plan& plan_;
  const FlatBody& body_;
  const CostModel& costs_;
  double fastest_link_ = 0;
  std::vector<std::uint32_t> launches_;  ///< by queue and kernel
  std::map<WorkKey, std::uint32_t> others_;
  WorkTable table_;
};

}  // namespace

Result<WorkTable> cost_instructions(const Plan& plan, const FlatBody& body, const CostModel& costs) {
  return WorkTableBuilder(plan, body, costs).build();
}

}  // namespace plimsoll
