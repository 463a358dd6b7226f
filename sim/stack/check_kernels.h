#pragma once

#include <string>

#include "core/base/result.h"
#include "core/model/model_spec.h"
#include "core/model/recipe.h"
#include "formats/machines/gpu_catalogue.h"
#include "sim/stack/stack_setup.h"

namespace plimsoll {

/// Whether FlashAttention 2 is written for it: for NVIDIA's since Ampere, and AMD's.
bool has_flash_attention(const GpuEntry& gpu);

/// Refuses it where the GPU is older, and so is PyTorch's kernel that is made of it.
Result<void> check_flash(const StackSetup& setup, const GpuEntry& gpu);

/// Refuses, by name, Liger's kernels where it has none for a model's family, or where what they do beside another option is not
/// modelled.
Result<void> check_liger(const ModelSpec& spec, const StackSetup& setup);

/// The same of Unsloth's functions.
Result<void> check_unsloth(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup);

/// Refuses TRL's fused head where it does not stand, or what it would stand beside is not modelled.
Result<void> check_fused_head(const ModelSpec& spec, const StackSetup& setup);

/// Refuses packed documents where attention does not end with them, or it is not modelled.
Result<void> check_packing(const ModelSpec& spec, const StackSetup& setup);

/// Refuses tiles of feed-forward layers where they are not modelled.
Result<void> check_tiles(const ModelSpec& spec, const StackSetup& setup);

/// What was taken for granted of Liger's kernels.
std::string liger_assumption();
std::string unsloth_assumption();

}  // namespace plimsoll
