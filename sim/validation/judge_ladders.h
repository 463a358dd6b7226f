#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/validation/row_statistics.h"
#include "sim/validation/state_ladder.h"

namespace plimsoll {

/// Runs that differ in their cap on host RAM alone, beside the predicted need.
struct LadderOutcome {
  std::string family;
  std::string ladder;
  std::string place;            ///< of its first rung
  Bytes need;                   ///< predicted
  std::optional<Bytes> failed;  ///< largest cap under which it was killed
  std::optional<Bytes> ran;     ///< smallest cap under which it ran
  std::int64_t rungs = 0;
  std::int64_t right = 0;  ///< rungs whose verdict the need tells

  /// How far the need is out of the bracket, as a share of its nearer end; 0 inside.
  [[nodiscard]] double off() const;
};

/// What became of the rungs among published rows.
struct LadderReport {
  std::vector<LadderOutcome> ladders;  ///< in the order of their first rungs
  std::vector<std::string> refusals;   ///< rungs that cannot be stated, and why
};

/// Gathers the rungs into ladders and predicts each; other rows are passed over. An empty family: all.
LadderReport judge_ladders(const std::vector<PublishedRow>& rows, const std::vector<ReadingRule>& rules,
                           std::string_view family);

/// Distances of the ladders, of all and by family; nothing where there is no ladder.
std::vector<RowGroup> summarize_ladders(const std::vector<LadderOutcome>& ladders);

}  // namespace plimsoll
