#include "profiler/cupti/activity_capture.h"

namespace plimsoll {

// The factory's other half, for builds without CUDA's headers.

Result<std::unique_ptr<ActivityCapture>> start_capture(const CaptureOptions&) {
  return fail({.kind = ErrorKind::kEnvironment,
               .what = "this build cannot capture device activity: CUDA's headers were not there when it was made",
               .where = {},
               .remedy = "install the CUDA toolkit with CUPTI and build again"});
}

int listen_to_nvtx(const std::string&, void*) { return 0; }
bool capture_is_built_in() { return false; }
std::string capture_build_text() { return "not built in: CUDA's headers (cupti.h) were not there"; }

}  // namespace plimsoll
