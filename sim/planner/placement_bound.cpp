#include "sim/planner/placement_bound.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <vector>

#include "core/graph/op.h"
#include "core/graph/optimizer_state.h"

namespace plimsoll {
namespace {

/// What lasts, in bytes, and what of it an update by the CPU takes at the least: groups differ in it, and a plan chooses
/// which ones the CPU updates.
struct Lasting {
  double states = 0;       ///< that an update reads and writes: weights at full precision, and moments
  double weights = 0;      ///< that compute reads, and as many gradients, for each byte of a group's states
  double cpu_seconds = 0;  ///< for each byte of a group's states
};

/// Bytes a second.
struct Rates {
  double in = 0, out = 0, read = 0, write = 0;
};

/// Seconds of the CPU's updates, by group.
Result<std::vector<double>> cpu_seconds(const Plan& plan, const Graph& graph, const CostModel& costs, const Queue& cpu) {
  std::vector<double> seconds(graph.parameters.groups.size(), 0);
  for (const Op& op : graph.ops) {
    if (!is_update(op.kind)) continue;
    const auto cost = costs.kernel(plan.platform.at(cpu.processor), Kernel{op.kind, op.dtype, op.shape});
    if (!cost) return fail(cost.error());
    seconds[graph.at(op.operands[0].tensor).group.index] += to_seconds(cost->median) / static_cast<double>(cpu.width);
  }
  return seconds;
}

Lasting what_lasts(const Plan& plan, const ParameterLayout& layout, const std::vector<double>& seconds) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  Lasting sum{.weights = kNone, .cpu_seconds = kNone};
  for (std::size_t i = 0; i < layout.groups.size(); ++i) {
    const auto bytes = [&](TensorKind kind) {
      return static_cast<double>(bytes_of_state(plan.recipe, layout.groups[i], kind).count);
    };
    const double weights = bytes(TensorKind::kParameter), master = bytes(TensorKind::kMaster);
    const double states =
        (master > 0 ? master : weights) + bytes(TensorKind::kFirstMoment) + bytes(TensorKind::kSecondMoment);
    if (states <= 0) continue;
    sum.states += states;
    sum.weights = std::min(sum.weights, weights / states);
    sum.cpu_seconds = std::min(sum.cpu_seconds, seconds[i] / states);
  }
  return sum;
}

/// What a link carries at the most: the best of transfers of many sizes, as many at once as any queue runs, but no more
/// than what its path has for all.
Result<double> most_rate(const Platform& platform, const Link& link, const CostModel& costs) {
  constexpr std::int64_t kLeastBytes = 1 << 16, kMostBytes = std::int64_t{1} << 34;
  double alone = 0, shared = 0;
  for (std::int64_t bytes = kLeastBytes; bytes <= kMostBytes; bytes *= 4) {
    const auto cost = costs.transfer(platform, link, Bytes(bytes));
    if (!cost) return fail(cost.error());
    alone = std::max(alone, static_cast<double>(bytes) / std::max(1e-9, to_seconds(cost->median)));
  }
  for (const Queue& queue : platform.queues) shared = std::max(shared, alone * static_cast<double>(queue.width));
  for (const Demand& demand : link.path) {
    const double capacity = platform.at(demand.resource).capacity;
    if (capacity > 0 && demand.amount > 0) shared = std::min(shared, capacity / demand.amount);
  }
  return std::max(alone, shared);
}

/// Of links one way: what each carries at the most, together no more than what is in the path of all of them has.
class Ways {
 public:
  void add(const Link& link, double rate) {
    sum_ += rate;
    alone_ = std::max(alone_, rate);
    std::map<std::uint32_t, double> shared;
    for (const Demand& demand : link.path) {
      const auto known = amounts_.find(demand.resource.index);
      if (count_ == 0) shared[demand.resource.index] = demand.amount;
      else if (known != amounts_.end()) shared[known->first] = std::min(known->second, demand.amount);
    }
    amounts_ = std::move(shared);
    ++count_;
  }

  [[nodiscard]] double rate(const Platform& platform) const {
    double most = sum_;
    for (const auto& [resource, amount] : amounts_) {
      const double capacity = platform.resources[resource].capacity;
      if (count_ > 1 && capacity > 0 && amount > 0) most = std::min(most, capacity / amount);
    }
    return std::max(most, alone_);
  }

 private:
  double sum_ = 0, alone_ = 0;
  int count_ = 0;
  std::map<std::uint32_t, double> amounts_;  ///< a byte, at the least, of what all of them share
};

/// Of all links into and out of the device, and the SSD.
Result<Rates> most_rates(const Platform& platform, const CostModel& costs, SpaceId device) {
  Ways in, out, read, write;
  for (const Link& link : platform.links) {
    const auto rate = most_rate(platform, link, costs);
    if (!rate) return fail(rate.error());
    if (link.to == device) in.add(link, *rate);
    if (link.from == device) out.add(link, *rate);
    if (platform.at(link.from).kind == SpaceKind::kSsd) read.add(link, *rate);
    if (platform.at(link.to).kind == SpaceKind::kSsd) write.add(link, *rate);
  }
  return Rates{in.rate(platform), out.rate(platform), read.rate(platform), write.rate(platform)};
}

double least_of_convex(const std::function<double(double)>& of, double begin, double end) {
  for (int i = 0; i < 120; ++i) {
    const double third = (end - begin) / 3;
    if (of(begin + third) <= of(end - third))
      end -= third;
    else
      begin += third;
  }
  return of((begin + end) / 2);
}

}  // namespace

Result<Nanoseconds> placement_bound(const Plan& plan, const Graph& graph, const CostModel& costs, Nanoseconds compute) {
  const Platform& platform = plan.platform;
  const auto device = platform.space(SpaceKind::kDevice), host = platform.space(SpaceKind::kHost);
  const auto cpu = platform.queue("cpu");
  if (plan.recipe.adapter.exists() || platform.link_to_ranks() || !device || !host || !cpu) return compute;
  const auto rates = most_rates(platform, costs, *device);
  if (!rates) return fail(rates.error());
  const auto updates = cpu_seconds(plan, graph, costs, platform.at(*cpu));
  if (!updates) return fail(updates.error());
  const Lasting all = what_lasts(plan, graph.parameters, *updates);
  const double room = static_cast<double>(platform.at(*device).usable.count);
  const double left = std::max(0.0, all.states - room - static_cast<double>(platform.at(*host).usable.count));
  const auto takes = [](double bytes, double rate) { return rate > 0 ? bytes / rate : 0; };
  const auto seconds = [&](double by_cpu) {
    const double streamed = std::max(0.0, all.states - by_cpu - room);
    return std::max({to_seconds(compute), by_cpu * all.cpu_seconds, takes(by_cpu * all.weights + streamed, rates->in),
                     takes(by_cpu * all.weights + streamed, rates->out), takes(left, rates->read),
                     takes(left, rates->write)});
  };
  if (all.states <= 0) return compute;
  // A step's ends are rounded to nanoseconds, and the least of the convex function is found to its last digits only.
  return std::max(compute, from_seconds((1 - 1e-6) * least_of_convex(seconds, 0, all.states)));
}

}  // namespace plimsoll
