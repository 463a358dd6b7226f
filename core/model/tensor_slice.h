#pragma once

#include <cstdint>
#include <vector>

#include "core/model/parameters.h"

namespace plimsoll {

/// One of `count` devices that share every block's layers.
struct TensorShare {
  std::uint32_t index = 0;
  std::uint32_t count = 1;

  bool operator==(const TensorShare&) const = default;
};

/// A stretch of a group's elements, and where a slice of the group has it.
struct ElementRun {
  std::int64_t whole = 0;  ///< first element in the whole group
  std::int64_t own = 0;    ///< first element in the slice
  std::int64_t count = 0;

  bool operator==(const ElementRun&) const = default;
};

/// Appends a run, or grows the last one where it goes on behind it. Empty ones are left out.
void append_run(std::vector<ElementRun>& runs, const ElementRun& next);

/// Whether each device has a part of that parameter alone, and of which product it is (Shoeybi et al. 2019, section 3).
enum class TensorCut : std::uint8_t {
  kNone,     ///< whole on every device
  kOutputs,  ///< rows of the weight: each device makes some of the outputs, and reads all inputs
  kInputs,   ///< columns of the weight: each device reads some of the inputs, and the outputs are sums over the devices
};
TensorCut cut_of(ParameterRole role);

/// The model that one device of `count` computes: its part of the heads and of the feed-forward layer's width, or of each
/// expert's; the embedding, the head and routers whole. Heads, key-value heads and widths must divide.
ModelSpec slice_of_model(const ModelSpec& spec, std::uint32_t count);

/// Which elements of a group of the whole model stand where in the same group of that device's; in the slice's order. Rows of
/// queries, keys and values are divided each for itself, so are those of a gate and of what it gates.
std::vector<ElementRun> runs_of_slice(const ModelSpec& spec, GroupId group, const TensorShare& share);

/// Stretches of a slice's group that no other device has: of what is cut.
std::vector<ElementRun> own_runs_of_slice(const ParameterGroup& slice);

}  // namespace plimsoll
