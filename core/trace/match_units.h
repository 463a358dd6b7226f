#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/trace/work_units.h"

namespace plimsoll {

/// Time of one class within one phase, of what was matched.
struct MatchedClass {
  UnitPhase phase = UnitPhase::kForward;
  UnitClass sort = UnitClass::kOther;
  std::size_t units = 0;
  Nanoseconds predicted;
  Nanoseconds measured;
};

/// What one side has and the other has not, by name.
struct UnmatchedName {
  UnitPhase phase = UnitPhase::kForward;
  UnitClass sort = UnitClass::kOther;
  std::string name;
  std::size_t units = 0;
  Nanoseconds time;
};

/// A prediction beside somebody else's run.
struct UnitMatch {
  std::vector<MatchedClass> classes;
  std::vector<UnmatchedName> only_predicted;  ///< the most time first
  std::vector<UnmatchedName> only_measured;
  Nanoseconds predicted_total;  ///< of all units
  Nanoseconds measured_total;
  double predicted_share = 0;  ///< of that time that is matched
  double measured_share = 0;
  bool layers = false;  ///< both sides tell layers, and only units of the same layer were matched
};

/// Pairs units of one phase and class (and layer, where both sides tell it) in their order: the pairs are as many as a common
/// subsequence can have. What has no partner stays unmatched; nothing is guessed for it. Units of class other are never paired.
UnitMatch match_units(const UnitStep& predicted, const UnitStep& measured);

}  // namespace plimsoll
