#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/answers/program_settings.h"
#include "sim/answers/setting_look.h"

namespace plimsoll {

/// One setting of a program and what it does.
struct SettingAnswer {
  std::string options;  ///< what to type for it, beside what is said
  SettingLook look;
};

/// The settings that were looked for.
struct SettingsAnswer {
  Question question;    ///< under the best ones: the fastest that certainly fit, else that fit; where none does, short by least
  FitAnswer best;       ///< as `fit` predicts them
  SettingAnswer chosen;
  std::vector<SettingAnswer> front;  ///< of those that fit: none is both faster and smaller than one of them; the fastest first
  std::vector<std::string> refused;  ///< why settings cannot be: each reason once
  bool coarse = false;        ///< whether they were compared coarsely before some were looked at
  std::size_t settings = 0;   ///< that there are
  std::size_t looked_at = 0;  ///< and could be predicted
  std::size_t fitting = 0;    ///< of those
  double floor_seconds = 0;   ///< of a step: the model's own arithmetic at the GPUs' nominal rate; 0: that is not known
};

/// The fastest settings of another program for a training, compared by look_at; Megatron-LM's layouts by the model of sim/parallel before
/// that. FSDP's shards wait in host memory where nothing else fits: the time of their update there is not told. The same whatever the
/// number of threads (0: one a core). `tell` hears the share that is done, from any thread. Fails where no setting can be predicted.
Result<SettingsAnswer> best_settings(const Question& question, const OpenSettings& open, const std::function<void(double)>& tell = {},
                                     unsigned threads = 0);

}  // namespace plimsoll
