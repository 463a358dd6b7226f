#pragma once

#include <cstdint>

#include "core/graph/op.h"

// Kernels take numbers out of memory and use them as places in other memory. What loads batches checks them, but a plan
// decides which bytes a kernel is given: so each is looked at again where it is used. An EnvironmentError names the
// number and the kernel.
namespace plimsoll::kernels {

struct Routing;

/// Tokens of an embedding, [sequence][token and the last one's target]: all below its vocabulary.
void check_tokens(const OpShape& embedding, const std::int32_t* tokens);

/// What a loss compares its rows with: below its outputs, or negative.
void check_targets(const OpShape& loss, const std::int32_t* tokens_or_labels);

/// A routing that a router wrote: experts' rows follow each other and are as many as there is room for, and tokens and
/// rows name each other.
void check_routing(const OpShape& mixture, const Routing& routing);

/// Rows that a share of a routing would have: no more than it has room for.
void check_room(std::int64_t rows, const Routing& share);

}  // namespace plimsoll::kernels
