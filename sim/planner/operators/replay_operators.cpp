#include "sim/planner/operators/replay_operators.h"

#include <fmt/format.h>

#include <algorithm>

namespace plimsoll {
namespace {

class Replay {
 public:
  explicit Replay(const OperatorGraph& graph)
      : graph_(graph), there_(graph.storages.size(), 0), defined_(graph.values.size(), 0) {}

  Result<void> take(const OperatorStep& step) {
    return step.kind == OperatorStep::Kind::kRun ? run(OperatorId(step.index)) : free_up(StorageId(step.index));
  }

  Result<OperatorReplay> end() {
    if (first_ < graph_.operators.size()) return defect(fmt::format("operator {} never runs", first_));
    for (const ValueId value : graph_.kept) {
      if (defined_[value.index] == 0) return defect(fmt::format("{} is not there at the end", graph_.at(value).name));
    }
    return replay_;
  }

 private:
  static tl::unexpected<Error> defect(std::string what) {
    return fail({.kind = ErrorKind::kDefect, .what = std::move(what), .where = {}, .remedy = {}});
  }

  Result<void> run(OperatorId id) {
    if (id.index >= graph_.operators.size()) return defect("there is no such operator");
    const Operator& one = graph_.at(id);
    if (id.index > first_) return defect(fmt::format("operator {} runs before operator {}", id.index, first_));
    if (id.index == first_) {
      ++first_;
    } else {
      if (one.constant) return defect(fmt::format("constant {} is made again", id.index));
      ++replay_.again;
    }
    for (const ValueId value : one.inputs) {
      if (defined_[value.index] == 0)
        return defect(fmt::format("operator {} reads {}, which is not there", id.index, graph_.at(value).name));
    }
    replay_.time += one.time;
    replay_.peak = std::max(replay_.peak, held_ + one.written);
    for (const ValueId value : one.outputs) {
      const StorageId storage = graph_.at(value).storage;
      if (there_[storage.index] == 0) held_ += graph_.at(storage).size;
      there_[storage.index] = 1;
      defined_[value.index] = 1;
    }
    return {};
  }

  Result<void> free_up(StorageId id) {
    if (id.index >= graph_.storages.size() || there_[id.index] == 0)
      return defect(fmt::format("storage {} is not there to be freed", id.index));
    const OperatorStorage& storage = graph_.at(id);
    if (graph_.at(graph_.at(storage.owner).maker).constant)
      return defect(fmt::format("storage {} is a constant and freed", id.index));
    there_[id.index] = 0;
    held_ -= storage.size;
    for (const ValueId value : storage.values) defined_[value.index] = 0;
    return {};
  }

  const OperatorGraph& graph_;
  std::vector<char> there_, defined_;
  std::uint32_t first_ = 0;  ///< the operator that has not run yet and runs next for the first time
  Bytes held_;
  OperatorReplay replay_;
};

}  // namespace

Result<OperatorReplay> replay_operators(const OperatorGraph& graph, const OperatorSchedule& schedule) {
  Replay replay(graph);
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    if (auto taken = replay.take(schedule[i]); !taken) {
      taken.error().where = fmt::format("entry {}", i);
      return fail(taken.error());
    }
  }
  return replay.end();
}

}  // namespace plimsoll
