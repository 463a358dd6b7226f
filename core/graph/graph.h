#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/graph/op.h"
#include "core/model/parameters.h"
#include "core/model/recipe.h"

namespace plimsoll {

/// What a tensor holds; the memory report groups by it.
enum class TensorKind : std::uint8_t {
  kTokens,         ///< what one micro-batch brings with it: token ids and targets, or pixels; see batch_parts.h
  kParameter,      ///< weights that compute reads
  kGradient,       ///< gradient of a parameter group, written by one micro-batch
  kAccumulator,    ///< sum of gradients over micro-batches, in fp32 or fp64
  kMaster,         ///< the optimizer's own copy of the weights (mixed precision only)
  kFirstMoment,
  kSecondMoment,
  kActivation,     ///< made in forward; lives until its last reader
  kActivationGradient,
  kWorkspace,
  kScalar,         ///< losses, norms, clip factor, loss scale (the only one that lasts)
};

/// A value of the step. One parameter or gradient is a view into the tensor of its whole group.
struct Tensor {
  TensorKind kind = TensorKind::kActivation;
  DType dtype = DType::kFp32;
  std::int64_t elements = 0;
  std::int64_t block = -1;
  GroupId group;                 ///< for parameters, gradients and optimizer state
  TensorId view_of;              ///< the tensor that this one is a part of, if any
  std::int64_t view_offset = 0;  ///< elements from the start of that tensor
  std::string name;

  [[nodiscard]] Bytes bytes() const { return Bytes(elements * size_of(dtype)); }
};

/// One training step: forward and backward of one micro-batch, then the optimizer. Ops stand in a topological order.
/// An activation that a backward op reads is a *saved* tensor.
struct Graph {
  ModelSpec spec;
  Recipe recipe;
  ParameterLayout parameters;
  std::vector<Tensor> tensors;
  std::vector<Op> ops;
  TensorId loss_scale;  ///< a LossScale that lasts from step to step; an invalid id where the loss is not scaled

  [[nodiscard]] const Tensor& at(TensorId id) const { return tensors[id.index]; }
  [[nodiscard]] const Op& at(OpId id) const { return ops[id.index]; }
};

/// What the machine adds to the graph: worker threads decide how much scratch the CPU kernels need.
struct GraphOptions {
  std::int64_t workers = 1;  ///< CPU workers that run one kernel together (0: a GPU runs it); sizes workspaces, never numbers
  bool evaluation = false;   ///< forward and loss only
};

/// Builds the step of a valid spec under a valid recipe.
Graph build_training_graph(const ModelSpec& spec, const Recipe& recipe, const GraphOptions& options = {});

std::string_view to_text(TensorKind kind);

}  // namespace plimsoll
