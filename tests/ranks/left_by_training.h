#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "core/model/parameters.h"
#include "core/trace/trace.h"
#include "executor/executor.h"

namespace plimsoll::test {

/// What a training leaves: losses and gradient norms of each step, then all weights and moments.
struct Left {
  std::vector<double> losses, norms;
  std::vector<std::vector<std::byte>> states;

  bool operator==(const Left&) const = default;
};

/// Each state is taken from a rank that updates it: the first of `executors` that has moments of the group.
template <typename Made>
Left left_by(const Trace& first, const ModelSpec& spec, const std::vector<std::unique_ptr<Made>>& executors) {
  Left left;
  for (const StepSummary& step : first.steps) {
    left.losses.push_back(step.loss);
    left.norms.push_back(step.gradient_norm);
  }
  for (std::size_t group = 0; group < lay_out_parameters(spec).groups.size(); ++group) {
    for (const TensorKind kind : {TensorKind::kParameter, TensorKind::kFirstMoment, TensorKind::kSecondMoment}) {
      for (const auto& executor : executors) {
        if (executor->state(TensorKind::kFirstMoment, GroupId(group)).empty()) continue;
        const std::span<const std::byte> bytes = executor->state(kind, GroupId(group));
        left.states.emplace_back(bytes.begin(), bytes.end());
        break;
      }
    }
  }
  return left;
}

}  // namespace plimsoll::test
