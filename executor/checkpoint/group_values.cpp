#include "executor/checkpoint/group_values.h"

namespace plimsoll {

std::span<const float> GroupValues::of(GroupId group) {
  if (group == held_) return values_;
  held_ = group;
  const std::span<const std::byte> bytes = state_(TensorKind::kParameter, group);
  if (dtype_ == DType::kFp32) return values_ = {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
  const std::span wide(reinterpret_cast<const double*>(bytes.data()), bytes.size() / sizeof(double));
  narrowed_.assign(wide.begin(), wide.end());
  return values_ = narrowed_;
}

}  // namespace plimsoll
