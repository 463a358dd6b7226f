#include "executor/open_executor.h"

#include <fmt/format.h>

#include "executor/cpu/cpu_executor.h"
#include "executor/cuda/device_executor.h"

namespace plimsoll {

Result<std::unique_ptr<Executor>> open_executor(Backend backend, const Plan& plan, const DriveOptions& drive,
                                               bool device_graphs) {
  if (backend == Backend::kCpu) {
    auto executor = CpuExecutor::create(plan, {.backend = "cpu", .drive = drive});
    if (!executor) return fail(executor.error());
    return std::unique_ptr<Executor>(std::move(*executor));
  }
  auto device = open_cuda_device();
  if (!device) return fail(device.error());
  auto executor = DeviceExecutor::create(plan, std::move(*device), {.graphs = device_graphs, .backend = "cuda", .drive = drive});
  if (!executor) return fail(executor.error());
  return std::unique_ptr<Executor>(std::move(*executor));
}

Result<Backend> parse_backend(std::string_view text) {
  if (text == "cpu") return Backend::kCpu;
  if (text == "cuda") return Backend::kCuda;
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("'{}' is no backend", text),
               .where = "--backend",
               .remedy = "cpu or cuda"});
}

}  // namespace plimsoll
