#pragma once

#include "core/base/result.h"
#include "core/plan/plan.h"

namespace plimsoll::cuda {

/// Says by name why the CUDA backend cannot run this kernel on the device.
Result<void> check_kernel(const Kernel& kernel);

/// Bytes that one launch of this kernel needs beside its operands; the backend keeps the most of all kernels for each stream.
Bytes scratch_of(const Kernel& kernel);

}  // namespace plimsoll::cuda
