#pragma once

#include <cstdint>

namespace plimsoll {

/// Blocks of a segment under Chen et al. 2016 (section 4.1): of n equal blocks in k segments the n/k inputs of one segment's
/// blocks and the k kept inputs together are fewest at k = √n, so a segment has n/k = √n of them, rounded so that
/// ceil(n/segment) + segment is least (of equals the shorter segment, which keeps less alive at once).
std::int64_t checkpoint_segment(std::int64_t blocks);

/// What that rule counts: inputs kept and blocks alive at once, in blocks.
std::int64_t segment_load(std::int64_t blocks, std::int64_t segment);

}  // namespace plimsoll
