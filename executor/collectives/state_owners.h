#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/plan/plan.h"
#include "core/plan/state_part.h"

namespace plimsoll {

/// What of one state of one group a rank keeps and updates.
struct OwnedPart {
  std::uint32_t rank = 0;
  std::vector<ElementRun> runs;

  [[nodiscard]] std::int64_t elements() const;
};

/// Which ranks of a job keep what of the training's states.
class StateOwners {
 public:
  /// Keeps a reference to the plans of all ranks.
  explicit StateOwners(std::span<const Plan> plans) : plans_(plans) {}

  /// Whose parts together are that state: one each, from the ranks that update them; in order. Empty when none keeps it. What
  /// several ranks that share layers keep of them alike, all say, and all say the same.
  /// Of weights the optimizer's copy is meant, where there is one.
  [[nodiscard]] std::vector<OwnedPart> parts(TensorKind kind, GroupId group) const;
  /// All ranks that keep any of it, also those that only read it; ascending.
  [[nodiscard]] std::vector<std::uint32_t> holders(TensorKind kind, GroupId group) const;
  /// Bytes of the whole state, as one rank would keep it, and elements.
  [[nodiscard]] Bytes size(TensorKind kind, GroupId group) const;
  [[nodiscard]] std::int64_t elements(GroupId group) const;

 private:
  /// What a rank that updates the group keeps; null on ranks that do not have it.
  [[nodiscard]] const StateBinding* find(const Plan& plan, TensorKind kind, GroupId group) const;
  /// Whether the rank keeps anything of the group besides the weights that it computes with.
  [[nodiscard]] bool updates(const Plan& plan, GroupId group) const;
  [[nodiscard]] TensorKind kept_kind(TensorKind kind) const;

  std::span<const Plan> plans_;
};

}  // namespace plimsoll
