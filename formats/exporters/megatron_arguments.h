#pragma once

#include "formats/exporters/export_target.h"

namespace plimsoll {

/// Arguments of Megatron-LM's pretrain_gpt.py as a bash array MEGATRON_ARGS, for `source FILE`. Option names as
/// megatron/training/ arguments.py has them (core 0.14 to 0.16). Refused: what Megatron cannot move, optimizers and
/// families that it does not have.
Result<ExportedText> megatron_arguments(const ExportedTraining& training);

}  // namespace plimsoll
