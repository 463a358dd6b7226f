#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/strong_id.h"
#include "core/model/adapter.h"
#include "core/model/model_spec.h"

namespace plimsoll {

using GroupId = StrongId<struct GroupTag>;

/// What a parameter tensor is to its block; kernels and checkpoints find it by this role. Of a convolutional net a group has
/// several tensors of one role.
enum class ParameterRole : std::uint8_t {
  kTokenEmbedding, kPositionEmbedding,
  kNorm1Weight, kNorm1Bias, kQkvWeight, kQkvBias, kProjectionWeight, kProjectionBias,
  kNorm2Weight, kNorm2Bias, kFfnInWeight, kFfnInBias, kFfnOutWeight, kFfnOutBias,
  kFinalNormWeight, kFinalNormBias, kHeadWeight, kHeadBias, kQueryNormWeight, kKeyNormWeight,
  kAdapterA, kAdapterB,
  kRouterWeight, kRouterNoiseWeight, kExpertInWeight, kExpertInBias, kExpertOutWeight, kExpertOutBias,
  kTokenTypeEmbedding, kEmbeddingNormWeight, kEmbeddingNormBias, kClassToken, kPatchWeight, kPatchBias,
  kTransformWeight, kTransformBias, kTransformNormWeight, kTransformNormBias, kPoolerWeight, kPoolerBias,
  kEmbeddingInWeight, kEmbeddingOutWeight, kRelativeBias, kEncoderNormWeight,
  kCrossNormWeight, kCrossQueryWeight, kCrossKeyValueWeight, kCrossProjectionWeight,
  kConvWeight, kConvBias, kBatchNormWeight, kBatchNormBias,
  kNorm1BehindWeight, kNorm2BehindWeight, kSinks, kRouterBias, kSharedInWeight, kSharedOutWeight, kSharedGateWeight,
  kLatentQueryDownWeight, kLatentQueryNormWeight, kLatentQueryWeight, kLatentDownWeight, kLatentNormWeight,
  kLatentKeyValueWeight,
  kDistanceKeyWeight, kContentBias, kDistanceBias, kClusterWeight, kClusterBias,
};

/// One parameter tensor, row-major [rows, columns] (a linear layer's weight is [outputs, inputs]; vectors have one row).
/// The experts of a block lie one after another, as rows of one matrix or elements of one vector.
struct ParameterTensor {
  ParameterRole role = ParameterRole::kTokenEmbedding;
  std::int64_t rows = 1;
  std::int64_t columns = 0;
  std::int64_t offset = 0;  ///< elements from the start of its group
  bool decays = false;      ///< weight decay applies (matrices and embeddings, not norms and biases)
  BaseStorage storage = BaseStorage::kCompute;  ///< of a frozen one
  AdapterTarget target = AdapterTarget::kQkv;  ///< of an adapter's tensor: the matrix beside which it stands
  std::int64_t matrices = 1;  ///< that lie one after another as its rows: of experts

  [[nodiscard]] std::int64_t elements() const { return rows * columns; }
};

/// Parameters that are stored, moved and updated together: the embeddings, one transformer block, the head, or the adapters
/// of a block.
/// Tensors that decay come first, so that one optimizer call covers the group with one boundary.
struct ParameterGroup {
  std::string name;         ///< "embedding", "block 7", "head"
  std::int64_t block = -1;  ///< transformer block, or -1
  std::vector<ParameterTensor> tensors;
  std::int64_t elements = 0;
  std::int64_t decaying_elements = 0;  ///< the leading elements to which weight decay applies
  bool frozen = false;                 ///< never updated: no gradient, no optimizer state

  [[nodiscard]] const ParameterTensor* find(ParameterRole role) const;
  /// A or B of the adapter beside `target`.
  [[nodiscard]] const ParameterTensor* find(ParameterRole role, AdapterTarget target) const;
};

/// All groups: embedding (of tokens or patches), block 0 … layers−1 (and on, of a decoder behind an encoder), head (final norm, what else stands before the output
/// matrix, and that matrix unless it is tied), and then, where there are any, the adapters of block 0 … layers−1; all others
/// are frozen then.
struct ParameterLayout {
  std::vector<ParameterGroup> groups;
  std::int64_t adapters = 0;  ///< groups of adapters

  [[nodiscard]] GroupId embedding() const { return GroupId(0); }
  [[nodiscard]] GroupId block(std::int64_t layer) const { return GroupId(static_cast<std::uint32_t>(layer + 1)); }
  [[nodiscard]] GroupId head() const { return GroupId(groups.size() - 1 - static_cast<std::size_t>(adapters)); }
  [[nodiscard]] GroupId adapter(std::int64_t layer) const {
    return GroupId(head().index + 1 + static_cast<std::uint32_t>(layer));
  }
  /// Of the groups that are trained, the one whose gradient is complete last.
  [[nodiscard]] GroupId last_trained() const { return adapters > 0 ? adapter(0) : embedding(); }
  [[nodiscard]] const ParameterGroup& at(GroupId id) const { return groups[id.index]; }
  [[nodiscard]] std::int64_t elements() const;
  [[nodiscard]] std::int64_t trained_elements() const;
};

/// Lays the parameters of `spec` (which must be valid) out in groups.
ParameterLayout lay_out_parameters(const ModelSpec& spec);

/// The same with `adapter` beside it, if it exists. The groups of the model itself keep their ids.
ParameterLayout lay_out_parameters(const ModelSpec& spec, const AdapterSpec& adapter);

/// Number of the model's parameters, a tied head counted once.
std::int64_t parameter_count(const ModelSpec& spec);

/// Of these, how many one token passes through: all but the experts that its router did not choose.
std::int64_t active_parameter_count(const ModelSpec& spec);

}  // namespace plimsoll
