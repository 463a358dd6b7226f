#pragma once

#include <cuda_runtime.h>

#include "executor/cuda/launch/device_launch.h"

namespace plimsoll::cuda {

class MatmulLibrary;

/// Where a launch goes.
struct LaunchPlace {
  cudaStream_t stream = nullptr;
  const unsigned long long* flag = nullptr;  ///< where it points at zeros, the launch does nothing; or null
  MatmulLibrary* library = nullptr;          ///< or null
  int capability = 0;                        ///< the device's: 75 for 7.5
};

// The kinds of kernels, one file of device code each. False: the kernel is of another kind.
bool dense_on_cuda(const LaunchPlace& place, const DeviceLaunch& launch);
bool streaming_on_cuda(const LaunchPlace& place, const DeviceLaunch& launch);
bool attention_on_cuda(const LaunchPlace& place, const DeviceLaunch& launch);
bool loss_on_cuda(const LaunchPlace& place, const DeviceLaunch& launch);
bool update_on_cuda(const LaunchPlace& place, const DeviceLaunch& launch);
bool muon_on_cuda(const LaunchPlace& place, const DeviceLaunch& launch);

}  // namespace plimsoll::cuda
