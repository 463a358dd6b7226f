#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/model/adapter.h"
#include "core/model/parameters.h"

namespace plimsoll {

/// The rows of a block's weight that are one matrix to an adapter: fused weights hold several.
struct AdapterPart {
  AdapterTarget target = AdapterTarget::kQuery;
  ParameterRole weight = ParameterRole::kQkvWeight;
  std::int64_t first = 0;  ///< row of the weight
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
};

/// Whether checkpoints of a family hold queries, keys and values as one matrix.
bool fuses_qkv(Family family);

/// Whether `targets`, a list with commas, names queries, keys and values of a model that has them in one matrix: they mean that one.
bool means_one_matrix(std::string_view targets, const ModelSpec& spec);

/// All matrices of a block of `spec`, as its family's checkpoints divide them, in the order of their targets; none of a model
/// beside which no adapter can stand.
std::vector<AdapterPart> adapter_parts(const ModelSpec& spec);

}  // namespace plimsoll
