#pragma once

#include "core/base/result.h"
#include "core/model/model_spec.h"
#include "core/model/recipe.h"
#include "sim/stack/stack_setup.h"

namespace plimsoll {

/// What it trains: GPT-2 with a tied head in bf16 or fp32, AdamW, ZeRO up to stage 1. Anything else is an error that names it.
Result<void> check_llmc(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup);

}  // namespace plimsoll
