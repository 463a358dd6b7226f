#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "sim/parallel/predict_parallel.h"

namespace plimsoll {

/// What decides the pieces of a layout, of layouts that are alike in everything that a search or a sweep leaves as it is.
using PieceKey = std::tuple<std::int64_t, TensorLayout, std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool, int,
                            bool, bool>;
PieceKey piece_key(const ParallelLayout& layout);

/// Pieces, or why there are none.
using PieceTable = std::map<PieceKey, Result<StagePieces>>;

/// Pieces of all layouts of a question, each different one made once, on that many threads (0: one a core).
PieceTable make_piece_table(const ParallelQuestion& question, const std::vector<ParallelLayout>& layouts, unsigned threads);

}  // namespace plimsoll
