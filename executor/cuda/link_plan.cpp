#include "executor/cuda/link_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "core/plan/order_ranks.h"

namespace plimsoll {
namespace {

tl::unexpected<Error> defect(std::string what) {
  return fail({.kind = ErrorKind::kDefect, .what = std::move(what), .where = "the job's plans", .remedy = {}});
}

/// Queues of all ranks in one row, joined where exchanges belong together.
class JoinedQueues {
 public:
  explicit JoinedQueues(std::span<const Plan> plans) {
    std::size_t count = 0;
    for (const Plan& plan : plans) {
      first_.push_back(count);
      count += plan.platform.queues.size();
    }
    above_.resize(count);
    std::iota(above_.begin(), above_.end(), 0);
    used_.resize(count, false);
  }
  [[nodiscard]] std::size_t place(std::uint32_t rank, QueueId queue) const { return first_[rank] + queue.index; }
  [[nodiscard]] std::size_t top_of(std::size_t place) const {
    while (above_[place] != place) place = above_[place];
    return place;
  }
  void join(std::size_t a, std::size_t b) {
    used_[a] = used_[b] = true;
    const std::size_t top = top_of(a), other = top_of(b);
    above_[std::max(top, other)] = std::min(top, other);
  }
  [[nodiscard]] bool is_used(std::size_t place) const { return used_[place]; }

 private:
  std::vector<std::size_t> first_, above_;
  std::vector<bool> used_;
};

/// From rank to rank, what is sent and what is received on a link, in the order of each side's instructions.
using Ends = std::map<std::tuple<std::size_t, std::uint32_t, std::uint32_t>, std::array<std::vector<JobInstruction>, 2>>;

Result<void> check_order(const JobOrder& order, std::span<const Plan> plans, const JoinedQueues& queues) {
  Ends ends;
  for (std::uint32_t rank = 0; rank < plans.size(); ++rank) {
    for (std::uint32_t id = 0; id < order.bodies[rank].size(); ++id) {
      const Instruction& instruction = order.bodies[rank].list.instructions[id];
      if (!instruction.exchange.valid()) continue;
      const Exchange& exchange = plans[rank].at(instruction.exchange);
      if (!is_message(exchange.kind)) continue;
      const bool sends = exchange.kind == ExchangeKind::kSend;
      const std::uint32_t other = exchange.ranks.front();
      const std::size_t link = queues.top_of(queues.place(rank, instruction.queue));
      // Both sides note the sender's instruction.
      const auto& pair = order.others[rank][id];
      const std::uint32_t from = sends ? rank : other;
      const auto sender = std::find_if(pair.begin(), pair.end(), [&](const JobInstruction& end) { return end.rank == from; });
      ends[{link, sends ? rank : other, sends ? other : rank}][sends ? 0 : 1].push_back(*sender);
    }
  }
  for (const auto& [between, sides] : ends) {
    if (sides[0] == sides[1]) continue;
    return defect(fmt::format("rank {} sends messages to rank {} in another order than they are received in",
                              std::get<1>(between), std::get<2>(between)));
  }
  return {};
}

Result<LinkPlan> links_of(std::span<const Plan> plans, const JoinedQueues& queues) {
  LinkPlan made;
  std::map<std::size_t, std::uint32_t> number;
  for (std::uint32_t rank = 0; rank < plans.size(); ++rank) {
    auto& own = made.link_of_queue.emplace_back(plans[rank].platform.queues.size());
    for (std::uint32_t q = 0; q < own.size(); ++q) {
      const std::size_t place = queues.place(rank, QueueId(q));
      if (!queues.is_used(place)) continue;
      const auto [known, is_new] = number.try_emplace(queues.top_of(place), static_cast<std::uint32_t>(made.links.size()));
      if (is_new) made.links.emplace_back();
      auto& members = made.links[known->second];
      if (!members.empty() && members.back() == rank)
        return defect(fmt::format("two queues of rank {} exchange with the same queues of other ranks", rank));
      members.push_back(rank);
      own[q] = known->second;
    }
  }
  return made;
}

}  // namespace

Result<LinkPlan> plan_links(std::span<const Plan> plans) {
  JoinedQueues queues(plans);
  std::vector<JobOrder> orders;
  for (const Body& body : plans[0].bodies) {
    auto order = order_ranks(plans, body.name);
    if (!order) return fail(order.error());
    for (std::uint32_t rank = 0; rank < plans.size(); ++rank) {
      for (std::uint32_t id = 0; id < order->bodies[rank].size(); ++id) {
        const auto queue_of = [&](const JobInstruction& end) {
          return queues.place(end.rank, order->bodies[end.rank].list.instructions[end.instruction].queue);
        };
        for (const JobInstruction& other : order->others[rank][id]) queues.join(queue_of({rank, id, false}), queue_of(other));
      }
    }
    orders.push_back(std::move(*order));
  }
  for (const JobOrder& order : orders) {
    if (auto same = check_order(order, plans, queues); !same) return fail(same.error());
  }
  return links_of(plans, queues);
}

}  // namespace plimsoll
