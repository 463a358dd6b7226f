#pragma once

#include "sim/answers/question.h"

namespace plimsoll {

/// A setting of a program, looked at to be compared with others.
struct SettingLook {
  double step_seconds = 0;
  double step_low = 0;
  double step_high = 0;
  Bytes device;          ///< what must fit into a GPU's usable memory
  Bytes host;            ///< of one rank; 0: nothing waits there
  Bytes short_of;        ///< what is missing over all memories; 0 where it fits
  bool fits = false;
  bool certain = false;  ///< else the GPU's margin is less than runs differ by
};

/// What `fit` says of the setting, or nearly so: of a step with many micro-batches two short ones are predicted, and the others take what
/// the longer one's take more. A pipeline's are cut by whole rounds of its stages. Fails where `fit` would.
Result<SettingLook> look_at(const Question& question);

/// The short form of an answer.
SettingLook look_of(const FitAnswer& answer);

}  // namespace plimsoll
