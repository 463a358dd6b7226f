#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/parallel/layout_request.h"
#include "sim/parallel/predict_parallel.h"

namespace plimsoll {

/// One key of a layout and the values that it takes.
struct LayoutVariation {
  std::string key;
  std::vector<std::string> values;
};

/// "pp=1,2,4" or "micro-batch=1..16" (every whole number). Unknown keys and values that the key does not take are
/// refused.
Result<LayoutVariation> parse_variation(std::string_view text);

/// One layout of a sweep: its answer, or why there is none.
struct SweptLayout {
  ParallelLayout layout;
  std::optional<ParallelAnswer> answer;
  std::string refusal;
};

/// Who times what of a sweep: of the combinations, numbered from 0, those that leave the remainder `part` by `parts`.
struct SweepShare {
  std::size_t part = 0;
  std::size_t parts = 1;
  unsigned threads = 0;  ///< 0: one a core
};

/// Every combination of the values that is in the share, the last variation fastest; the same in any order of work. More
/// than a million combinations are refused.
Result<std::vector<SweptLayout>> sweep_layouts(const ParallelQuestion& question, const LayoutRequest& base,
                                               const std::vector<LayoutVariation>& variations, const SweepShare& share = {});

}  // namespace plimsoll
