#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/quantity.h"
#include "core/plan/durability.h"

namespace plimsoll {

/// What it costs that a training outlives kills and losses of power.
struct SafetyAnswer {
  Safety safety;
  Bytes written_each;  ///< of one checkpoint, or one step's state
  Bytes read_each;     ///< of it from the drive that the state lies on
  Bytes room;          ///< of all files that are kept at once, beside the run file
  std::optional<double> seconds_each;  ///< nothing where nobody knows how fast the drive is
  std::optional<double> step_share;    ///< of the step's own time, spread over the steps between two
  std::string source;                  ///< where the time is from, or why there is none
  struct Measured {
    std::int64_t times = 0;
    Bytes written_each;
    double seconds_each = 0;
  };
  std::optional<Measured> measured;  ///< of a run
  /// What the run's own first saves said of those after them.
  struct Learned {
    std::int64_t from = 0;  ///< saves until then
    double seconds_each = 0;
    std::int64_t later = 0;  ///< saves after them, and what those took
    double later_seconds_each = 0;
  };
  std::optional<Learned> learned;  ///< of a run that saved often enough

  /// Steps between two of them.
  [[nodiscard]] std::int64_t every() const { return safety.durability == Durability::kStep ? 1 : safety.every; }
};

/// As one JSON object.
std::string to_json(const SafetyAnswer& answer);

}  // namespace plimsoll
