#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sim/answers/near_answer.h"
#include "sim/answers/scaled_question.h"

namespace plimsoll {

/// Where something that grows stops fitting.
struct LargestFit {
  std::int64_t value = 0;          ///< the largest that fits; 0 when not even 1 does
  NearAnswer answer;               ///< there
  std::int64_t parameters = 0;     ///< there
  std::optional<NearAnswer> beyond;  ///< one more, which does not fit; nothing where the search ended at its limit
  std::int64_t certain = 0;        ///< the largest that fits by more than the answer may err; of a plan of ours, `value`
  std::int64_t refused_below = 0;  ///< where not everything below `value` fits, the smallest of those looked at that do not
  std::int64_t window = 0;         ///< tokens of a sliding window that ended the search, since plans of ours know no longer sequences; 0: none did
  bool monotone = true;            ///< nothing that was looked at fits above, or fails below
  std::size_t looked_at = 0;
};

struct LargestOptions {
  std::int64_t most = 4096;  ///< values above are not looked at
  Bytes of_each;             ///< about what one more takes, where that is known: how far to step back from what does not fit
};

/// An answer to a value, as thorough as is asked.
using FitProbe = std::function<Result<NearAnswer>(std::int64_t value, bool thorough)>;

/// Doubles, narrows the interval by what was missing (and by halves, where that does not lead on), and asks both sides
/// of the edge thoroughly; where the farther one fits after all, goes on from there. `probe` is asked once for each
/// value and thoroughness.
Result<LargestFit> find_largest(const FitProbe& probe, const LargestOptions& options = {});

/// The question grown to `value`, 1 being the smallest.
using Growth = std::function<Result<Question>(const Question& question, std::int64_t value)>;

/// Growing by an extent, or along models that stand in a row, the smallest first.
Growth growth_of(Extent extent);
Growth growth_along(std::vector<ModelSpec> models);

/// How hard largest_fit works.
struct LargestEffort {
  bool memory = true;    ///< plans of ours are asked for room alone until the edge is known, and timed there; false: everywhere
  bool bound = true;     ///< what all memories together cannot hold is not looked at
  unsigned threads = 1;  ///< for plans near one value; 0: one a core; the answer does not depend on it
};

/// How far the question can grow and its training still fits.
Result<LargestFit> largest_fit(const Question& question, const Growth& growth, const LargestOptions& options = {},
                               const LargestEffort& effort = {});

}  // namespace plimsoll
