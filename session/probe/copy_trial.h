#pragma once

#include <cstdint>

#include "executor/cuda/device.h"
#include "profiler/probe/copy_rates.h"

namespace plimsoll {

struct CopyTrialOptions {
  Bytes piece = 64 * kMiB;
  double batch_seconds = 0.05;  ///< of each measurement, by the device's clock
  Bytes memory = 2 * kGiB;      ///< of the host, that Adam may take
  int rounds = 5;               ///< of all measurements; the medians count
};

/// Measures copies between pinned memory and the device, each way alone and with the other way busy, and both beside the CPU's Adam
/// on so many threads: two or three seconds. Throws EnvironmentError (DeviceFull among them) where the device has no room or fails.
CopyRates try_copies(Device& device, std::size_t threads, const CopyTrialOptions& options = {});

}  // namespace plimsoll
