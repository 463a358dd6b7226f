#pragma once

#include "formats/exporters/exported_training.h"
#include "sim/stack/stack_setup.h"

namespace plimsoll {

/// A setup of another program as exporters write it. Fails for llm.c, whose options nobody reads.
Result<ExportedTraining> exported_training(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup);

/// `setup` with what a DeepSpeed configuration that was read decides: ZeRO, offloading, buckets, ZenFlow, checkpoints
/// where it counts them. Fails where it asks for what is not modelled under DeepSpeed (a ratio below 1).
Result<StackSetup> with_configuration(StackSetup setup, const ExportedTraining& read);

/// `setup` with the choices of a published system, as its own software makes them: zero-offload (delayed too),
/// zero-3-offload and zero-infinity under deepspeed, gemini-static and gemini under colossalai. Fails, with the names
/// that it knows, for another one.
Result<StackSetup> with_published_choices(StackSetup setup, const std::string& name);

}  // namespace plimsoll
