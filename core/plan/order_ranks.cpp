#include "core/plan/order_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>
#include <string>
#include <tuple>

#include "core/plan/plan_checks.h"

namespace plimsoll {
namespace {

/// What the instructions of one stream have in common on all ranks: a message's two ends, or a collective.
using StreamKey = std::tuple<bool, ExchangeKind, std::uint32_t, std::vector<std::uint32_t>, DType>;

StreamKey stream_of(const Plan& plan, const Exchange& exchange) {
  if (!is_message(exchange.kind)) return {false, exchange.kind, exchange.channel, exchange.ranks, exchange.dtype};
  const bool sends = exchange.kind == ExchangeKind::kSend;
  const std::uint32_t other = exchange.ranks.front();
  const auto ends = sends ? std::vector{plan.rank, other} : std::vector{other, plan.rank};
  return {true, ExchangeKind::kSend, exchange.channel, ends, DType::kFp32};
}

tl::unexpected<Error> defect(std::string what, std::string remedy = {}) {
  return fail({.kind = ErrorKind::kDefect, .what = std::move(what), .where = "the job's plans", .remedy = std::move(remedy)});
}

class Job {
 public:
  Job(std::span<const Plan> plans, std::string_view body) : plans_(plans), body_(body) {}

  Result<JobOrder> run() {
    if (auto same = check_one_training(); !same) return fail(same.error());
    for (const Plan& plan : plans_) result_.bodies.push_back(expand(plan, *plan.body(body_)));
    collect();
    if (auto matched = match(); !matched) return fail(matched.error());
    return order();
  }

 private:
  using Node = JobInstruction;

  [[nodiscard]] Result<void> check_one_training() const {
    for (std::size_t rank = 0; rank < plans_.size(); ++rank) {
      const Plan& plan = plans_[rank];
      if (plan.rank != rank || plan.ranks != plans_.size())
        return defect(fmt::format("place {} of {} holds the plan of rank {} of {}", rank, plans_.size(), plan.rank, plan.ranks));
      if (plan.body(body_) == nullptr) return defect(fmt::format("rank {} has no body '{}'", rank, body_));
      if (numerics_digest(plan.spec, plan.recipe) != numerics_digest(plans_[0].spec, plans_[0].recipe))
        return defect(fmt::format("rank {} trains something else than rank 0", rank));
    }
    return {};
  }

  [[nodiscard]] const Instruction& at(const Node& node) const {
    return result_.bodies[node.rank].list.instructions[node.instruction];
  }
  [[nodiscard]] bool exchanges(const Node& node) const { return at(node).exchange.valid(); }
  [[nodiscard]] std::string name(const Node& node) const {
    return fmt::format("rank {}, {}", node.rank, name_of(plans_[node.rank], at(node), node.instruction));
  }

  void collect() {
    result_.others.resize(plans_.size());
    for (std::uint32_t rank = 0; rank < plans_.size(); ++rank) {
      const auto& instructions = result_.bodies[rank].list.instructions;
      result_.others[rank].resize(instructions.size());
      for (std::uint32_t id = 0; id < instructions.size(); ++id) {
        if (!instructions[id].exchange.valid()) continue;
        const Exchange& exchange = plans_[rank].at(instructions[id].exchange);
        auto& members = streams_[stream_of(plans_[rank], exchange)];
        members[rank].push_back({rank, id, false});
      }
    }
  }

  Result<void> match() {
    for (const auto& [key, members] : streams_) {
      const auto& ranks = std::get<3>(key);
      const std::vector<Node>& first = members.begin()->second;
      for (const std::uint32_t rank : ranks) {
        const auto found = members.find(rank);
        const std::size_t count = found == members.end() ? 0 : found->second.size();
        if (count == first.size()) continue;
        return defect(fmt::format("{}: rank {} has {} instructions of it, rank {} has {}", describe(key), first.front().rank,
                                  first.size(), rank, count));
      }
      if (auto fits = match_each(key, members); !fits) return fits;
    }
    return {};
  }

  Result<void> match_each(const StreamKey& key, const std::map<std::uint32_t, std::vector<Node>>& members) {
    const std::vector<Node>& first = members.begin()->second;
    for (const auto& [rank, nodes] : members) {
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (at(nodes[i]).queue != at(nodes[0]).queue || plans_[rank].platform.at(at(nodes[i]).queue).width != 1)
          return defect(fmt::format("{}: its instructions on rank {} are not on one queue of width 1", describe(key), rank));
        if (auto alike = check_alike(first[i], nodes[i]); !alike) return alike;
        for (const auto& other : members) result_.others[rank][nodes[i].instruction].push_back(other.second[i]);
      }
    }
    return {};
  }

  [[nodiscard]] Result<void> check_alike(const Node& a, const Node& b) const {
    const auto bytes = [&](const Node& node) { return result_.bodies[node.rank].uses(at(node))[0].bytes; };
    if (bytes(a) != bytes(b))
      return defect(
          fmt::format("{} has {} bytes and its other end, {}, has {}", name(a), bytes(a).count, name(b), bytes(b).count));
    const auto micro_batch = [&](const Node& node) { return result_.bodies[node.rank].micro_batches[node.instruction]; };
    const bool message = is_message(plans_[a.rank].at(at(a).exchange).kind);
    if (!message || micro_batch(a) == micro_batch(b)) return {};
    return defect(fmt::format("{} is of micro-batch {} and its other end, {}, of micro-batch {}", name(a), micro_batch(a),
                              name(b), micro_batch(b)),
                  "let both ranks pass micro-batches in the same order");
  }

  static std::string describe(const StreamKey& key) {
    return fmt::format("{} on channel {} of ranks {}", std::get<0>(key) ? "messages" : to_text(std::get<1>(key)),
                       std::get<2>(key), fmt::join(std::get<3>(key), ", "));
  }

  /// Position of a node in flat tables: arrivals first.
  [[nodiscard]] std::size_t place(const Node& node) const {
    return begin_[node.rank] + 2 * node.instruction + (node.arrives ? 0 : 1);
  }

  [[nodiscard]] Node last_of(std::uint32_t rank, std::uint32_t instruction) const { return {rank, instruction, false}; }

  void wait(const Node& later, const Node& earlier) {
    followers_[place(earlier)].push_back(later);
    ++waits_[place(later)];
  }

  void link() {
    std::size_t size = 0;
    for (const FlatBody& body : result_.bodies) {
      begin_.push_back(size);
      size += 2 * body.size();
    }
    followers_.resize(size);
    waits_.resize(size, 0);
    for (std::uint32_t rank = 0; rank < plans_.size(); ++rank) link_rank(rank);
  }

  void link_rank(std::uint32_t rank) {
    const FlatBody& body = result_.bodies[rank];
    std::vector<std::uint32_t> newest(plans_[rank].platform.queues.size(), 0xffffffffu);
    for (std::uint32_t id = 0; id < body.size(); ++id) {
      const Instruction& instruction = body.list.instructions[id];
      const Node first{rank, id, instruction.exchange.valid()};
      std::uint32_t& before = newest[instruction.queue.index];
      if (before != 0xffffffffu) wait(first, last_of(rank, before));
      before = id;
      for (const Dependency& dependency : body.dependencies(instruction)) {
        if (dependency.distance == 0) wait(first, last_of(rank, dependency.target));
      }
      for (const Node& other : result_.others[rank][id]) wait(last_of(rank, id), {other.rank, other.instruction, true});
    }
  }

  Result<JobOrder> order() {
    link();
    const auto later = [](const Node& a, const Node& b) {
      return std::tuple(a.instruction, a.rank, !a.arrives) > std::tuple(b.instruction, b.rank, !b.arrives);
    };
    std::priority_queue<Node, std::vector<Node>, decltype(later)> ready(later);
    std::size_t wanted = 0;
    for_each_node([&](const Node& node) {
      ++wanted;
      if (waits_[place(node)] == 0) ready.push(node);
    });
    while (!ready.empty()) {
      const Node node = ready.top();
      ready.pop();
      result_.order.push_back(node);
      for (const Node& next : followers_[place(node)]) {
        if (--waits_[place(next)] == 0) ready.push(next);
      }
    }
    if (result_.order.size() == wanted) return std::move(result_);
    return deadlock();
  }

  template <typename Visit>
  void for_each_node(const Visit& visit) const {
    for (std::uint32_t rank = 0; rank < plans_.size(); ++rank) {
      for (std::uint32_t id = 0; id < result_.bodies[rank].size(); ++id) {
        if (exchanges({rank, id, false})) visit(Node{rank, id, true});
        visit(Node{rank, id, false});
      }
    }
  }

  /// Walks from what cannot run to what it waits for, until it comes around.
  [[nodiscard]] tl::unexpected<Error> deadlock() const {
    std::map<std::size_t, Node> awaited;  // of each blocked node, one that it waits for
    for_each_node([&](const Node& node) {
      if (waits_[place(node)] == 0) return;
      for (const Node& next : followers_[place(node)]) awaited.emplace(place(next), node);
    });
    Node node = awaited.begin()->second;
    std::map<std::size_t, std::size_t> seen;
    std::vector<Node> path;
    while (seen.emplace(place(node), path.size()).second) {
      path.push_back(node);
      node = awaited.at(place(node));
    }
    std::string text;
    for (std::size_t i = seen.at(place(node)); i < path.size(); ++i) {
      if (!exchanges(path[i])) continue;
      const std::string named = name(path[i]);
      if (text.size() < named.size() || !text.ends_with(named)) text += (text.empty() ? "" : " waits for ") + named;
    }
    return defect("the ranks would wait for each other for ever: " + text);
  }

  std::span<const Plan> plans_;
  std::string_view body_;
  JobOrder result_;
  std::map<StreamKey, std::map<std::uint32_t, std::vector<Node>>> streams_;
  std::vector<std::size_t> begin_;  ///< by rank, into the tables below
  std::vector<std::vector<Node>> followers_;
  std::vector<std::uint32_t> waits_;
};

}  // namespace

Result<JobOrder> order_ranks(std::span<const Plan> plans, std::string_view body) { return Job(plans, body).run(); }

}  // namespace plimsoll
