#pragma once

#include "formats/exporters/export_target.h"

namespace plimsoll {

/// A DeepSpeed configuration, every value written out (documented defaults differ from those in its code). Keys as
/// DeepSpeed 0.19 reads them. Refused: optimizers that it does not build, activations on drives, updates delayed by a
/// step, pipelines.
Result<ExportedText> deepspeed_json(const ExportedTraining& training);

/// The ZeRO stage that the training needs: as a setup says; of a plan the least that can move what the plan moves.
int deepspeed_stage(const ExportedTraining& training);

}  // namespace plimsoll
