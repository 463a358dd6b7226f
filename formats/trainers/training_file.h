#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace plimsoll {

/// What the training files of other programs (.yaml) say, as options of ours.
struct TrainingFile {
  std::string program;  ///< who reads such files: "LLaMA-Factory"
  std::string model;    ///< as MODEL is given; empty where the file names none
  std::map<std::string, std::string> options;  ///< "--batch": "2"; a flag's value is empty
  std::optional<std::string> weights;   ///< the type that the model is loaded in: fp32, bf16 or fp16
  std::optional<std::string> products;  ///< that of mixed precision: bf16 or fp16, or "no"
  bool tf32 = false;
  std::vector<std::string> unread;  ///< keys that nothing here reads, with their values
  std::vector<std::string> notes;   ///< what was assumed, as sentences for the user

  void say(const std::string& option, std::string value = {}) { options[option] = std::move(value); }
  /// Adds to what waits elsewhere, "params:cpu".
  void offload(const std::string& item);
};

/// Reads a training file of LLaMA-Factory, axolotl, torchtune, TRL or transformers, or a launch file of accelerate, which its
/// keys tell. Refused, with the key: values of a wrong type, and trainings that nothing here tells (reward models, PPO,
/// frozen layers). A file that is none of these names the known ones.
Result<TrainingFile> read_training_file(std::string_view text, const std::string& where);

/// One training that several files describe (accelerate's launch file and a trainer's own); the later one wins.
TrainingFile joined(TrainingFile first, const TrainingFile& second);

/// What follows from all files of a training together: the precision from the types that they state, and that states which are shared out are
/// not paged here.
void settle(TrainingFile& file);

}  // namespace plimsoll
