#include "executor/cuda/cuda_launcher.h"
#include "executor/cuda/launch/by_storage.h"
#include "executor/cuda/launch/streaming.h"

namespace plimsoll::cuda {

bool streaming_on_cuda(const LaunchPlace& place, const DeviceLaunch& launch) {
  CudaLauncher launcher(place, launch.kernel.dtype == DType::kTf32);
  return by_storage(launch.kernel.dtype, [&](auto type) {
    return launch_streaming<typename decltype(type)::Type>(launcher, launch);
  });
}

}  // namespace plimsoll::cuda
