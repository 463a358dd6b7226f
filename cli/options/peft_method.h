#pragma once

#include "cli/options/adapter_flags.h"
#include "core/base/result.h"
#include "core/model/model_spec.h"
#include "sim/stack/adapter_setup.h"

namespace plimsoll {

/// What --dora, --peft and --train-also mean where another program trains. They are taken out of `flags`, where --lora then says rank
/// and targets; what a method has of its own is in the result.
Result<AdapterSetup> take_peft_method(AdapterFlags& flags, const ModelSpec& spec);

}  // namespace plimsoll
