#pragma once

#include <span>
#include <vector>

#include "core/model/dtype.h"
#include "executor/checkpoint/state_access.h"

namespace plimsoll {

/// Shows the weights of a group as floats, whatever type the state has; one group at a time.
class GroupValues {
 public:
  GroupValues(const ReadState& state, DType dtype) : state_(state), dtype_(dtype) {}

  /// Valid until the next call.
  std::span<const float> of(GroupId group);

 private:
  const ReadState& state_;
  DType dtype_;
  GroupId held_;
  std::span<const float> values_;
  std::vector<float> converted_;  ///< of states that are not fp32
};

}  // namespace plimsoll
