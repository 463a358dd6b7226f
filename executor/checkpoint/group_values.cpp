#include "executor/checkpoint/group_values.h"

#include <algorithm>

#include "formats/models/half_floats.h"

namespace plimsoll {

std::span<const float> GroupValues::of(GroupId group) {
  if (group == held_) return values_;
  held_ = group;
  const std::span<const std::byte> bytes = state_(TensorKind::kParameter, group);
  if (dtype_ == DType::kFp32) return values_ = {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
  if (dtype_ == DType::kBf16) {
    const std::span halves(reinterpret_cast<const std::uint16_t*>(bytes.data()), bytes.size() / sizeof(std::uint16_t));
    converted_.resize(halves.size());
    std::transform(halves.begin(), halves.end(), converted_.begin(), float_from_bf16);
    return values_ = converted_;
  }
  const std::span wide(reinterpret_cast<const double*>(bytes.data()), bytes.size() / sizeof(double));
  converted_.assign(wide.begin(), wide.end());
  return values_ = converted_;
}

}  // namespace plimsoll
