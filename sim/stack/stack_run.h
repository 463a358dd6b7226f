#pragma once

#include <memory>
#include <vector>

#include "core/base/result.h"
#include "core/model/model_spec.h"
#include "core/model/recipe.h"
#include "formats/machines/gpu_catalogue.h"
#include "sim/stack/device_room.h"
#include "sim/stack/stack_model_maker.h"
#include "sim/stack/stack_setup.h"
#include "sim/stack/step_marks.h"
#include "sim/stack/tape/place.h"
#include "sim/stack/tape/stack_kernel.h"
#include "sim/stack/tape/storage_log.h"

namespace plimsoll {

class Tape;

/// Some steps of a program that allocates while it runs: all births and deaths of storages, and the kernels of the last step.
struct StackRun {
  std::shared_ptr<Tape> tape;       ///< holds what follows alive
  const StorageLog* log = nullptr;
  std::vector<StackKernel> kernels;
  std::int64_t stage = 0;           ///< of a pipeline, the one that is told
  std::vector<std::vector<StackKernel>> pipeline;  ///< what its first stage does, the second where there are three, the last, whichever is told
  std::vector<Place> places;
  StepMarks marks;
  DeviceRoom room;
};

/// Runs the setup's program without numbers; of a pipeline, the stage that needs most unless one is asked for. What is not
/// modelled of a stack is refused by name, and so is llm.c, which reserves arenas once.
Result<StackRun> run_stack(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu);

/// The same of any model that is made on a tape, under PyTorch.
StackRun run_model(const StackModelMaker& make, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu);

/// A tape with the workspaces that the GPU's libraries take in that setup.
std::shared_ptr<Tape> make_tape(const StackSetup& setup, const GpuEntry& gpu);

}  // namespace plimsoll
