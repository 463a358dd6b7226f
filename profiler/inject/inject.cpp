// libplimsoll_inject.so: CUDA loads it into a program whose environment names it in CUDA_INJECTION64_PATH, when the program first
// touches CUDA, and calls InitializeInjection. It writes a spool of device records and nothing else: no database, no output.

#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "profiler/cupti/activity_capture.h"
#include "profiler/inject/profile_environment.h"

namespace {

using namespace plimsoll;

/// Lives until the process does: CUDA may still call back while other objects are destroyed.
ActivityCapture* capture = nullptr;

std::string text_of(const char* variable) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? std::string() : std::string(value);
}

void stop() {
  if (capture != nullptr) capture->stop();
}

/// A forked child shares the spool's file, but neither the collector nor the GPU: it goes on unprofiled.
void forget_in_child() { capture = nullptr; }

void start(const std::string& folder) {
  const std::string base = folder + "/" + std::to_string(::getpid());
  auto started = start_capture({.spool = base + kSpoolSuffix, .library = text_of(kCuptiVariable)});
  if (!started) {
    std::ofstream(base + kReasonSuffix) << started.error().where << ": " << started.error().what << "\n"
                                        << started.error().remedy << "\n";
    return;
  }
  capture = started->release();
  std::atexit(stop);
  ::pthread_atfork(nullptr, nullptr, forget_in_child);
}

}  // namespace

/// Called by CUDA. Nothing here may reach the program: neither an exception nor output.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  try {
    const std::string folder = text_of(plimsoll::kFolderVariable);
    if (!folder.empty() && capture == nullptr) start(folder);
  } catch (...) {  // the program comes first; profile sees that there is no spool
  }
  return 1;
}

/// Called by NVTX, with the way to its functions, when the program first names a range. CUPTI listens; this only says which one.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(void* nvtx_functions) {
  try {
    return plimsoll::listen_to_nvtx(text_of(plimsoll::kCuptiVariable), nvtx_functions);
  } catch (...) {
    return 0;
  }
}
