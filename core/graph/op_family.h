#pragma once

#include "core/graph/op.h"

namespace plimsoll {

/// Kinds of kernels by what their costs and operands are formed like: each family answers for its own.
enum class OpFamily : std::uint8_t {
  kLayer,      ///< of a layer, forward or backward, but for attention and mixtures
  kAttention,  ///< with keys and values, and with biases of distances
  kExperts,    ///< of a mixture of experts
  kGradient,   ///< sums gradients, and what clips them
  kUpdate,     ///< an optimizer's, which writes weights
  kExchange,   ///< moves what ranks share; no launch
};

OpFamily family_of(OpKind kind);

}  // namespace plimsoll
