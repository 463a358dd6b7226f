#include "executor/cuda/device.h"

// In place of cuda_device.cpp in a build without the CUDA toolkit.
namespace plimsoll {

std::string cuda_build() {
  return "built without the CUDA toolkit: plans for GPUs are made and simulated, runs use the CPU backend";
}

Result<std::shared_ptr<Device>> open_cuda_device(std::uint32_t) {
  return fail({.kind = ErrorKind::kEnvironment,
               .what = "this program was built without the CUDA toolkit",
               .where = "--backend cuda",
               .remedy = "install the toolkit (nvcc on the PATH or in /usr/local/cuda), run cmake again, and build"});
}

}  // namespace plimsoll
