#include "sim/planner/operators/eviction_scores.h"

#include <cmath>

namespace plimsoll {
namespace {

constexpr std::uint32_t kNoNode = StorageLinks::kEnd;
constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

EvictionScores::EvictionScores(const OperatorGraph& graph, const StorageLinks& links, const EvictionRule& rule)
    : graph_(graph),
      links_(links),
      rule_(rule),
      last_read_(graph.storages.size()),
      own_(graph.storages.size(), 0),
      factor_(graph.storages.size(), 1),
      known_(graph.storages.size(), -1),
      gone_(graph.storages.size(), 0),
      next_(graph.storages.size(), 0),
      mark_(graph.storages.size(), 0),
      node_(graph.storages.size(), kNoNode) {
  std::mt19937 random(rule.seed);
  if (rule.disturb > 0) {
    for (double& factor : factor_)
      factor =
          std::exp(rule.disturb * (2 * static_cast<double>(random()) / static_cast<double>(std::mt19937::max()) - 1));
  }
}

void EvictionScores::begin(OperatorId id) {
  newest_ = id;
  const Operator& one = graph_.at(id);
  ++marks_;
  for (const ValueId output : one.outputs) {
    const StorageId storage = graph_.at(output).storage;
    if (mark_[storage.index] == marks_) continue;  // of several values in one storage the first counts
    mark_[storage.index] = marks_;
    own_[storage.index] += static_cast<double>(one.time.count);
    if (!graph_.at(output).view) node_[storage.index] = new_node(0);
  }
}

std::uint32_t EvictionScores::new_node(double value) {
  const auto node = static_cast<std::uint32_t>(parent_.size());
  parent_.push_back(node);
  value_.push_back(value);
  node_mark_.push_back(0);
  return node;
}

std::uint32_t EvictionScores::root(std::uint32_t node) {
  while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
  return node;
}

void EvictionScores::evicted(StorageId storage) {
  gone_[storage.index] = 1;
  changed(storage);
  if (rule_.cost != EvictionRule::Cost::kClasses) return;
  const std::uint32_t node = new_node(own_[storage.index]);
  node_[storage.index] = node;
  for (const auto* links : {&links_.parents, &links_.children}) {
    for (const StorageLink& link : (*links)[storage.index]) {
      if (!born(link.by) || node_[link.other.index] == kNoNode) continue;
      const std::uint32_t other = root(node_[link.other.index]), own = root(node);
      if (other == own) continue;
      parent_[other] = own;
      value_[own] += value_[other];
    }
  }
}

void EvictionScores::written(StorageId storage) {
  const bool was_gone = gone_[storage.index] != 0;
  gone_[storage.index] = 0;
  if (was_gone) changed(storage);
  if (node_[storage.index] == kNoNode) return;
  value_[root(node_[storage.index])] -= own_[storage.index];
  node_[storage.index] = kNoNode;
}

/// What is connected to `storage` by evicted ones must look again at what its region costs.
void EvictionScores::changed(StorageId storage) {
  if (rule_.cost != EvictionRule::Cost::kAncestors && rule_.cost != EvictionRule::Cost::kBoth) return;
  ++marks_;
  mark_[storage.index] = marks_;
  known_[storage.index] = -1;
  stack_.assign(1, storage);
  while (!stack_.empty()) {
    const StorageId at = stack_.back();
    stack_.pop_back();
    for (const auto* links : {&links_.parents, &links_.children}) {
      visits_ += (*links)[at.index].size();
      for (const StorageLink& link : (*links)[at.index]) {
        if (!born(link.by) || mark_[link.other.index] == marks_) continue;
        mark_[link.other.index] = marks_;
        known_[link.other.index] = -1;
        if (gone_[link.other.index] != 0) stack_.push_back(link.other);
      }
    }
  }
}

double EvictionScores::region(StorageId storage, const std::vector<std::vector<StorageLink>>& links) {
  double sum = 0;
  ++marks_;
  mark_[storage.index] = marks_;
  stack_.assign(1, storage);
  while (!stack_.empty()) {
    const StorageId at = stack_.back();
    stack_.pop_back();
    visits_ += links[at.index].size();
    for (const StorageLink& link : links[at.index]) {
      if (!born(link.by) || gone_[link.other.index] == 0 || mark_[link.other.index] == marks_) continue;
      mark_[link.other.index] = marks_;
      sum += own_[link.other.index];
      stack_.push_back(link.other);
    }
  }
  return sum;
}

double EvictionScores::classes(StorageId storage) {
  double sum = 0;
  ++marks_;
  for (const auto* links : {&links_.parents, &links_.children}) {
    visits_ += (*links)[storage.index].size();
    for (const StorageLink& link : (*links)[storage.index]) {
      if (!born(link.by) || node_[link.other.index] == kNoNode) continue;
      const std::uint32_t of = root(node_[link.other.index]);
      if (node_mark_[of] == marks_) continue;
      node_mark_[of] = marks_;
      sum += value_[of];
    }
  }
  return sum;
}

double EvictionScores::cost(StorageId storage) {
  const double own = own_[storage.index];
  if (rule_.cost == EvictionRule::Cost::kNone) return 1;
  if (rule_.cost == EvictionRule::Cost::kOwn) return own;
  if (rule_.cost == EvictionRule::Cost::kClasses) return own + classes(storage);
  double& known = known_[storage.index];
  if (known < 0) {
    known = region(storage, links_.parents);
    if (rule_.cost == EvictionRule::Cost::kBoth) known += region(storage, links_.children);
  }
  return own + known;
}

/// Nanoseconds, in a program that computes nothing again; what is never read again is read after three more such
/// programs.
double EvictionScores::ahead(StorageId storage) {
  const auto& readers = links_.readers[storage.index];
  std::size_t& next = next_[storage.index];
  while (next < readers.size() && readers[next] <= newest_.index) ++next;
  const Nanoseconds end = links_.begin.back() + graph_.operators.back().time;
  const Nanoseconds now = links_.begin[newest_.index];
  if (next == readers.size()) return static_cast<double>((4 * end - now).count);
  return static_cast<double>(((readers[next] == StorageLinks::kEnd ? end : links_.begin[readers[next]]) - now).count);
}

double EvictionScores::score(StorageId storage, Nanoseconds clock) {
  using Age = EvictionRule::Age;
  const Nanoseconds last = last_read_[storage.index];
  if (rule_.age == Age::kLeastRecent) return static_cast<double>(last.count) * factor_[storage.index];
  double under = rule_.by_size ? static_cast<double>(graph_.at(storage).size.count) : 1;
  if (rule_.age == Age::kStale) under *= static_cast<double>((clock - last).count);
  if (rule_.age == Age::kAhead) under *= ahead(storage);
  return under > 0 ? factor_[storage.index] * cost(storage) / under : kNever;
}

}  // namespace plimsoll
