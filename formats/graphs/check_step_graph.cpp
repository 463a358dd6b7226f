#include "formats/graphs/check_step_graph.h"

#include <fmt/format.h>

namespace plimsoll {
namespace {

enum class State : std::uint8_t { kUnmade, kHeld, kThere, kFreed };

/// Follows every storage through the step.
class LifeOfStorages {
 public:
  LifeOfStorages(const StepGraph& graph, const std::string& where) : graph_(graph), where_(where), states_(graph.storages.size()) {}

  Result<void> check() {
    for (const GraphParameter& parameter : graph_.parameters) {
      hold(parameter.storage, "parameter " + parameter.name);
      check_size(parameter);
    }
    for (const std::uint32_t buffer : graph_.buffers) hold(buffer, "a buffer");
    for (const std::uint32_t input : graph_.inputs) hold(input, "an input");
    bool backward = false;
    for (std::size_t i = 0; i < graph_.ops.size() && error_.empty(); ++i) {
      const GraphOp& op = graph_.ops[i];
      place_ = fmt::format("ops[{}]", i);
      if (op.phase == Phase::kForward && backward) note("forward after backward");
      if (op.phase == Phase::kBackward && !backward) check_loss();
      backward = op.phase == Phase::kBackward;
      follow(op);
    }
    if (error_.empty() && !backward) note("the step has no backward pass");
    if (error_.empty()) return {};
    return fail({.kind = ErrorKind::kInput, .what = error_, .where = where_ + ": " + wrong_place_,
                 .remedy = "docs/graph-format.md says what a step graph holds"});
  }

 private:
  void follow(const GraphOp& op) {
    for (const std::uint32_t made : op.makes) move(made, State::kUnmade, State::kThere, "is made twice");
    for (const std::uint32_t read : op.reads) {
      if (!known(read) || states_[read] == State::kHeld || states_[read] == State::kThere) continue;
      note(fmt::format("storage {} is read while it is not there", read));
    }
    for (const GraphGradient& gradient : op.gradients) {
      if (known(gradient.storage) && states_[gradient.storage] != State::kThere)
        note(fmt::format("gradient in storage {}, which is not there", gradient.storage));
    }
    for (const std::uint32_t freed : op.frees) move(freed, State::kThere, State::kFreed, "is freed while it is not there, or held");
  }

  /// A parameter is all of its storage or a part of it.
  void check_size(const GraphParameter& parameter) {
    if (parameter.storage >= graph_.storages.size()) return;
    std::int64_t room = graph_.storages[parameter.storage].count / size_of(parameter.dtype);
    for (const std::int64_t size : parameter.shape) {
      if (size > room) return note("its shape is larger than its storage");
      if (size > 0) room /= size;
    }
  }

  void check_loss() {
    if (known(graph_.loss) && states_[graph_.loss] != State::kThere) note("the loss is not there when backward begins");
  }

  void hold(std::uint32_t storage, const std::string& by) {
    place_ = by;
    if (known(storage)) states_[storage] = State::kHeld;
  }

  void move(std::uint32_t storage, State from, State to, std::string_view wrong) {
    if (!known(storage)) return;
    if (states_[storage] != from) note(fmt::format("storage {} {}", storage, wrong));
    states_[storage] = to;
  }

  bool known(std::uint32_t storage) {
    if (storage < states_.size()) return true;
    note(fmt::format("there is no storage {}", storage));
    return false;
  }

  void note(std::string error) {
    if (!error_.empty()) return;
    error_ = std::move(error);
    wrong_place_ = place_;
  }

  const StepGraph& graph_;
  const std::string& where_;
  std::vector<State> states_;
  std::string place_;
  std::string error_;
  std::string wrong_place_;
};

}  // namespace

std::int64_t StepGraph::parameter_count() const {
  std::int64_t total = 0;
  for (const GraphParameter& parameter : parameters) {
    std::int64_t elements = 1;
    for (const std::int64_t size : parameter.shape) elements *= size;
    total += elements;
  }
  return total;
}

Result<void> check_step_graph(const StepGraph& graph, const std::string& where) { return LifeOfStorages(graph, where).check(); }

}  // namespace plimsoll
