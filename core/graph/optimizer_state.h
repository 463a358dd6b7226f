#pragma once

#include <vector>

#include "core/graph/graph.h"

namespace plimsoll {

/// What an optimizer's rule keeps of a group from step to step beside the weights: kFirstMoment (a moving average of
/// gradients) or kSecondMoment (of their squares, or what stands for it). All bytes are 0 before the first step.
struct OptimizerState {
  TensorKind kind = TensorKind::kFirstMoment;
  DType dtype = DType::kFp32;
  std::int64_t elements = 0;

  [[nodiscard]] Bytes bytes() const { return Bytes(elements * size_of(dtype)); }
};

/// A range of one of a group's states.
struct StateRange {
  TensorKind kind = TensorKind::kFirstMoment;
  DType dtype = DType::kFp32;
  std::int64_t offset = 0;  ///< in elements of `dtype` from the start of that state
  std::int64_t elements = 0;
};

/// One kernel of a group's update. Rules that treat every element alike have one for the whole group; the others have one
/// for each parameter tensor.
struct UpdatePart {
  OpKind kind = OpKind::kAdamW;
  OpShape shape;
  std::int64_t offset = 0;    ///< of its weights and gradients from the start of the group
  std::int64_t elements = 0;  ///< of them
  std::vector<StateRange> states;  ///< in the order of the kernel's operands
};

/// The states of `group` under the recipe's optimizer, in the order of the kernels' operands; empty when the rule keeps none.
std::vector<OptimizerState> optimizer_states(const Recipe& recipe, const ParameterGroup& group);

/// The kernels of one update of `group`, by their place in it.
std::vector<UpdatePart> update_parts(const Recipe& recipe, const ParameterGroup& group);

/// Bytes of anything that lasts of a group: kParameter, kMaster, or a state that its optimizer keeps (0 of one that it
/// does not keep).
Bytes bytes_of_state(const Recipe& recipe, const ParameterGroup& group, TensorKind kind);

/// Tensors of fewer elements keep 32-bit moments under 8-bit Adam, as bitsandbytes does (min_8bit_size).
inline constexpr std::int64_t kLeastQuantized = 4096;
/// Elements that share one scale, as in bitsandbytes (2048 in Dettmers et al. 2022, section 2.1).
inline constexpr std::int64_t kQuantizedBlock = 256;

/// Bytes of one 8-bit moment of a tensor: a code for each element, filled up to whole scales, then a scale (fp32) for each
/// block.
constexpr std::int64_t quantized_codes(std::int64_t elements) { return (elements + 3) / 4 * 4; }
constexpr std::int64_t quantized_bytes(std::int64_t elements) {
  return quantized_codes(elements) + (elements + kQuantizedBlock - 1) / kQuantizedBlock * 4;
}

}  // namespace plimsoll
