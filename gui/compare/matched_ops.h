#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gui/timeline/timeline.h"

namespace plimsoll::gui {

/// One instruction in two steps; times are nanoseconds since the begin of its step.
struct MatchedOp {
  std::uint32_t instruction = 0;
  std::optional<std::int64_t> first_start;  ///< in the first step; nothing: it did not run there
  std::int64_t first_duration = 0;
  std::optional<std::int64_t> second_start;
  std::int64_t second_duration = 0;

  [[nodiscard]] std::int64_t difference() const { return second_duration - first_duration; }
  [[nodiscard]] bool in_both() const { return first_start && second_start; }
};

/// Matches the instructions of two steps of one plan by their ids, in order of the ids.
std::vector<MatchedOp> match_ops(const Timeline& first, std::uint32_t first_step, const Timeline& second,
                                 std::uint32_t second_step);

/// What the ops of one name add up to.
struct MatchedClass {
  std::string name;
  std::uint8_t paint = 0;
  std::uint64_t first_count = 0;
  std::uint64_t second_count = 0;
  std::int64_t first_total = 0;
  std::int64_t second_total = 0;

  [[nodiscard]] std::int64_t difference() const { return second_total - first_total; }
};

/// Two steps' ops by name, whatever plans they are of, the largest difference first.
std::vector<MatchedClass> add_up(const Timeline& first, std::uint32_t first_step, const Timeline& second, std::uint32_t second_step);

/// The op whose duration differs most (of equal ones the smaller id); nothing when there is none in both.
std::optional<std::uint32_t> worst_divergence(const std::vector<MatchedOp>& ops);

/// The op that starts first among those whose duration differs by more than a tenth and by more than a thousandth of
/// the step; nothing when none does.
std::optional<std::uint32_t> first_divergence(const std::vector<MatchedOp>& ops, std::int64_t step);

}  // namespace plimsoll::gui
