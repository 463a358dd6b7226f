#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/result.h"

namespace plimsoll {

struct CaptureOptions {
  std::string spool;    ///< the file to write
  std::string library;  ///< a libcupti to load; empty: one that the program has loaded already, else what the system finds
};

/// Captures the device activity of this process into a spool, from construction to stop(). One a process. Calls may come from any
/// thread; none throws, since the process may be somebody else's.
class ActivityCapture {
 public:
  virtual ~ActivityCapture() = default;

  /// What the calling thread submits from now on, until leave(), belongs to this instruction of the running plan.
  virtual void enter(std::uint32_t step, std::uint32_t instruction) = 0;
  virtual void leave() = 0;
  /// Notes how much memory of the calling thread's current device is free: at an op's boundary, what a framework does not account
  /// for.
  virtual void read_memory() = 0;
  /// Collects what is complete, so that it survives the death of the process.
  virtual void flush() = 0;
  /// Collects everything and closes the spool. The destructor does not do this for itself: CUDA may be gone by then.
  virtual void stop() = 0;
};

/// Starts a capture. Where this cannot be, the error says which library or permission is missing, with the remedy.
Result<std::unique_ptr<ActivityCapture>> start_capture(const CaptureOptions& options);

/// Makes CUPTI listen to NVTX, which asks the library that it loads for this with the way to its own functions. Returns what NVTX
/// wants to hear: 1, or 0 where no CUPTI can be loaded.
int listen_to_nvtx(const std::string& library, void* nvtx_functions);

/// Whether this build can capture at all, and in words what it was built with.
bool capture_is_built_in();
std::string capture_build_text();

}  // namespace plimsoll
