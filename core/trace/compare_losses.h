#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/trace/trace.h"

namespace plimsoll {

/// The losses of two trainings, step by step. A plan may change when things happen, never numbers: trainings that differ only in
/// their plans have the same bits on one machine.
struct ComparedLosses {
  struct Apart {
    std::uint32_t step = 0;  ///< from 0
    double first = 0;
    double second = 0;
  };
  std::size_t steps = 0;             ///< that both have
  std::size_t unknown = 0;           ///< of these, those whose losses are no number in both
  std::optional<Apart> first_apart;  ///< nothing: the same bits in all
  std::optional<double> largest;     ///< |difference| of steps that differ and are finite in both; nothing: there are none
};

/// Steps are matched by their numbers; each list is in their order.
ComparedLosses compare_losses(const std::vector<StepSummary>& first, const std::vector<StepSummary>& second);

}  // namespace plimsoll
