#include "profiler/microbench/bench_device.h"

namespace plimsoll {

// The factory's other half, for builds without CUDA's headers.

Result<std::unique_ptr<BenchDevice>> open_bench_device() {
  return fail({.kind = ErrorKind::kEnvironment,
               .what = "this build cannot measure a GPU: CUDA's headers were not there when it was made",
               .where = {},
               .remedy = "install the CUDA toolkit and build again"});
}

}  // namespace plimsoll
