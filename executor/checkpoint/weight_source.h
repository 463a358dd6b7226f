#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/model/adapter.h"
#include "core/model/dtype.h"
#include "core/model/parameters.h"
#include "executor/checkpoint/head_weights.h"
#include "formats/models/hf_checkpoint.h"

namespace plimsoll {

/// A checkpoint of which every tensor that is wanted is there with the right shape; gives it group by group.
class WeightSource {
 public:
  /// The weights of a model of `spec` in what HfCheckpoint opens.
  static Result<WeightSource> open(const std::filesystem::path& path, const ModelSpec& spec,
                                   HeadWeights head = HeadWeights::kStored);
  /// The adapters of `adapter` in a PEFT folder.
  static Result<WeightSource> open_adapter(const std::filesystem::path& folder, const ModelSpec& spec,
                                           const AdapterSpec& adapter);

  [[nodiscard]] const HfCheckpoint& checkpoint() const { return checkpoint_; }

  /// Reads the tensors of one group, one after another, straight to their places in `place`, the group in fp32 or fp64. A
  /// NaN is an error.
  Result<void> read_group(GroupId group, DType dtype, std::span<std::byte> place) const;
  /// The same for a group that is kept otherwise: tensor by tensor, each in fp32 before it is rounded or encoded.
  Result<void> read_stored(GroupId id, const ParameterGroup& group, DType compute, std::span<std::byte> place) const;

 private:
  Result<void> read_tensor(GroupId id, const ParameterTensor& tensor, std::span<float> values) const;
  WeightSource(HfCheckpoint checkpoint, std::vector<HfTensor> wanted, std::vector<CheckpointTensor> stored);

  HfCheckpoint checkpoint_;
  std::vector<HfTensor> wanted_;
  std::vector<CheckpointTensor> stored_;        ///< of each wanted one
  std::optional<CheckpointTensor> spare_head_;  ///< a tied head that is stored all the same
};

}  // namespace plimsoll
