#pragma once

#include "formats/exporters/export_target.h"

namespace plimsoll {

/// A job file for torchtitan 0.2 (`--job.config_file`), every value that the training decides written out. Newer
/// versions take the same keys as options. Refused: fp16, what lies on drives, states that wait elsewhere without their
/// parameters' shards.
Result<ExportedText> torchtitan_toml(const ExportedTraining& training);

}  // namespace plimsoll
