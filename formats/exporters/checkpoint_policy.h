#pragma once

#include "formats/exporters/export_target.h"

namespace plimsoll {

/// A Python file that checkpoints a transformers model's blocks as the training says: inputs of segments of blocks, or
/// by create_selective_checkpoint_contexts the outputs of the operators that the plan keeps. Operators are told apart
/// by kind and order within their segment (the third matrix product, the first norm).
Result<ExportedText> checkpoint_policy(const ExportedTraining& training);

}  // namespace plimsoll
