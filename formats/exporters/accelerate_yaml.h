#pragma once

#include "formats/exporters/export_target.h"

namespace plimsoll {

/// A configuration for `accelerate launch --config_file`, every value written out, with keys as accelerate 1.15 reads
/// them. Of the kind DEEPSPEED it says what accelerate's own keys say of DeepSpeed; --to deepspeed says all.
Result<ExportedText> accelerate_deepspeed_yaml(const ExportedTraining& training);

/// Of the kind NO for one process, and MULTI_GPU for several with a whole model each (DDP).
Result<ExportedText> accelerate_ddp_yaml(const ExportedTraining& training);

/// The same of the kind FSDP (version 2). Parameters, gradients and states can wait in host memory together or not at
/// all.
Result<ExportedText> accelerate_fsdp_yaml(const ExportedTraining& training);

}  // namespace plimsoll
