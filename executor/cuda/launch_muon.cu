#include "executor/cuda/cuda_launcher.h"
#include "executor/cuda/launch/by_storage.h"
#include "executor/cuda/launch/muon.h"

// Apart from launch_update.cu, which is compiled without fused multiply-adds: products are what they are in launch_dense.cu.
namespace plimsoll::cuda {

bool muon_on_cuda(const LaunchPlace& place, const DeviceLaunch& launch) {
  CudaLauncher launcher(place, launch.kernel.dtype == DType::kTf32);
  return by_storage(launch.kernel.dtype, [&](auto type) {
    return launch_matrix_update<typename decltype(type)::Type>(launcher, launch);
  });
}

}  // namespace plimsoll::cuda
