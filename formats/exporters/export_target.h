#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/exporters/exported_training.h"

namespace plimsoll {

/// A program whose options are written.
enum class ExportTarget : std::uint8_t {
  kDeepspeed,
  kAccelerateDeepspeed,
  kAccelerateFsdp,
  kAccelerateDdp,
  kFsdp2,
  kTorchCheckpoint,
  kMegatron,
  kGemini,
  kTorchtitan,
};

/// What an exporter makes: one text, perhaps a script beside it, and what the target cannot say or says approximately.
struct ExportedText {
  std::string text;
  std::string script;  ///< that applies the text; written beside it with the ending .py; may be empty
  std::vector<std::string> notes;
};

/// Writes the training in the target's own terms. Refused, by name: what the target cannot do and without which the
/// training would not fit or would compute other numbers. What it does another way, or does not know and decides time
/// alone, is a note.
Result<ExportedText> export_training(ExportTarget target, const ExportedTraining& training);

/// The usual ending of the target's files, with its dot.
std::string_view file_ending(ExportTarget target);

std::string_view to_text(ExportTarget target);
/// "accelerate" is the kind that the training asks for: DeepSpeed where anything waits elsewhere or DeepSpeed trains,
/// FSDP where anything is shared out or checkpoints wait in host memory, else neither (accelerate-ddp).
Result<ExportTarget> parse_export_target(std::string_view text, const ExportedTraining& training);
/// "deepspeed, accelerate, …", for help and errors.
std::string export_target_names();
/// Whether `text` names a target at all, and which stack's setups it takes ("" for any).
Result<void> check_export_target(std::string_view text);

}  // namespace plimsoll
