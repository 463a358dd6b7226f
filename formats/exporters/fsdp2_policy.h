#pragma once

#include "formats/exporters/export_target.h"

namespace plimsoll {

/// A policy for PyTorch's fully_shard as JSON, and a script that applies it: which modules are units, when they are
/// sharded again, types, whether shards wait in host memory, and checkpoints of blocks.
Result<ExportedText> fsdp2_policy(const ExportedTraining& training);

/// Refuses what `who`, which shards by FSDP, cannot do: shards of parameters and states wait in host memory together or
/// not at all.
Result<void> check_fsdp(const ExportedTraining& training, const std::string& who);

/// Whether a block's parameters are let go after its forward pass.
bool reshards(const ExportedTraining& training);
/// Whether shards wait in host memory.
bool offloads_shards(const ExportedTraining& training);
/// What FSDP does another way than the training says.
void note_fsdp(const ExportedTraining& training, std::vector<std::string>& notes);

}  // namespace plimsoll
