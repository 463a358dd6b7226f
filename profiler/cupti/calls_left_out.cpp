#include "profiler/cupti/calls_left_out.h"

#include <algorithm>
#include <array>

namespace plimsoll {
namespace {

// Calls that only ask what the process knows already: they give the GPU no work, and neither move, nor allocate, nor load, nor wait.
// A framework asks thousands of times a step (cudaGetDevice before every operator), and writing each of these down takes about as
// long as its answer. They explain no gap: a host that is busy with asking pauses for as long between the calls that remain.
//
// Questions that may take long are kept, since they do explain gaps: those that start CUDA on a device when they are the first
// (cudaGetDeviceCount, cudaDeviceGetStreamPriorityRange), that load a kernel's code (cudaGetFuncBySymbol, cuKernelGetFunction,
// cudaFuncGetAttributes, those of occupancy), or that go to the driver (cudaMemGetInfo, cudaGetDeviceProperties, the attributes of
// devices). So are cudaEventQuery and cudaStreamQuery: a thread that polls waits by asking, and nothing else says so. A program that
// spins on them fills the record, but in time in which it had nothing to do.
constexpr std::array<std::string_view, 47> kFunctions{
    "cuCtxGetApiVersion",
    "cuCtxGetCacheConfig",
    "cuCtxGetCurrent",
    "cuCtxGetDevice",
    "cuCtxGetFlags",
    "cuCtxGetId",
    "cuCtxGetLimit",
    "cuDeviceGet",
    "cuDevicePrimaryCtxGetState",
    "cuDriverGetVersion",
    "cuFuncGetName",
    "cuFuncGetParamInfo",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuGetProcAddress",
    "cuKernelGetAttribute",
    "cuKernelGetName",
    "cuKernelGetParamInfo",
    "cuMemGetAddressRange",
    "cuPointerGetAttribute",
    "cuPointerGetAttributes",
    "cuStreamGetAttribute",
    "cuStreamGetCaptureInfo",
    "cuStreamGetCtx",
    "cuStreamGetDevice",
    "cuStreamGetFlags",
    "cuStreamGetGreenCtx",
    "cuStreamGetId",
    "cuStreamGetPriority",
    "cuStreamIsCapturing",
    "cudaDriverGetVersion",
    "cudaGetDevice",
    "cudaGetDriverEntryPoint",
    "cudaGetDriverEntryPointByVersion",
    "cudaGetErrorName",
    "cudaGetErrorString",
    "cudaGetLastError",
    "cudaPeekAtLastError",
    "cudaPointerGetAttributes",
    "cudaRuntimeGetVersion",
    "cudaStreamGetAttribute",
    "cudaStreamGetCaptureInfo",
    "cudaStreamGetDevice",
    "cudaStreamGetFlags",
    "cudaStreamGetId",
    "cudaStreamGetPriority",
    "cudaStreamIsCapturing",
};
static_assert(std::ranges::is_sorted(kFunctions));

/// Variants that take the thread's own default stream are marked so, within or behind the version.
std::string_view without_default_stream(std::string_view name) {
  for (const std::string_view mark : {"_ptsz", "_ptds"}) {
    if (name.ends_with(mark)) return name.substr(0, name.size() - mark.size());
  }
  return name;
}

}  // namespace

std::string_view call_name(std::string_view name) {
  const std::size_t suffix = name.rfind("_v");
  const bool is_version =
      suffix != std::string_view::npos && suffix + 2 < name.size() && name[suffix + 2] >= '0' && name[suffix + 2] <= '9';
  return is_version ? name.substr(0, suffix) : name;
}

std::span<const std::string_view> functions_left_out() { return kFunctions; }

bool is_left_out(std::string_view name) {
  // "cudaStreamGetCaptureInfo_v2_ptsz_v11030": the function's own version stands before the runtime's.
  return std::ranges::binary_search(kFunctions, call_name(without_default_stream(call_name(name))));
}

}  // namespace plimsoll
