#pragma once

#include "core/platform/platform.h"
#include "formats/machines/gpu_catalogue.h"
#include "sim/stack/device_room.h"
#include "sim/stack/stack_setup.h"
#include "sim/stack/step_timeline.h"

namespace plimsoll {

// Spaces of a stack's platform, in this order.
inline constexpr SpaceId kStackDevice{0};
inline constexpr SpaceId kStackContext{1};  ///< what the process's context takes of the GPU
inline constexpr SpaceId kStackHost{2};
inline constexpr SpaceId kStackDrive{3};

/// The machine of a stack: a GPU, the room that its driver and others take, host memory and a drive, a queue for each lane.
Platform stack_platform(const GpuEntry& gpu, const StackSetup& setup, const DeviceRoom& room);

QueueId queue_of(StepLane lane);

/// What of a setup a plan's simulation needs beside the plan itself, as the name of its strategy: "pytorch, 8 ranks, expandable
/// segments"; and the setup that such a name means.
std::string stack_words(const StackSetup& setup);
Result<StackSetup> read_stack_words(std::string_view words);

}  // namespace plimsoll
