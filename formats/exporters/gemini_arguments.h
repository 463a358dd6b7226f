#pragma once

#include "formats/exporters/export_target.h"

namespace plimsoll {

/// Arguments of Colossal-AI's GeminiPlugin as JSON, every one that is not an object written out, and a script that
/// makes the booster. Names as Colossal-AI 0.5 has them. Refused: what lies on drives, and activations that leave the
/// device.
Result<ExportedText> gemini_arguments(const ExportedTraining& training);

}  // namespace plimsoll
