#pragma once

#include <cuda.h>
#include <cupti.h>

#include <cstdint>
#include <string>

#include "core/base/result.h"

namespace plimsoll {

/// The functions of CUPTI that a capture calls. Loaded and not linked: a machine without CUPTI still starts the program, and a
/// program that brings its own (PyTorch does) must not get a second one.
struct CuptiLibrary {
  decltype(&cuptiGetVersion) get_version = nullptr;
  decltype(&cuptiGetTimestamp) get_timestamp = nullptr;
  decltype(&cuptiGetResultString) get_result_string = nullptr;
  decltype(&cuptiGetCallbackName) get_callback_name = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityDisable) disable = nullptr;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&cuptiActivityGetNextRecord) get_next_record = nullptr;
  decltype(&cuptiActivityGetNumDroppedRecords) get_dropped = nullptr;
  decltype(&cuptiActivityFlushAll) flush_all = nullptr;
  decltype(&cuptiActivitySetAttribute) set_attribute = nullptr;
  decltype(&cuptiActivityPushExternalCorrelationId) push_external = nullptr;
  decltype(&cuptiActivityPopExternalCorrelationId) pop_external = nullptr;
  // Of newer ones only, null elsewhere: which calls and which queries are recorded.
  decltype(&cuptiActivityEnableRuntimeApi) enable_runtime_call = nullptr;
  decltype(&cuptiActivityEnableDriverApi) enable_driver_call = nullptr;
  decltype(&cuptiActivityEnableAllSyncRecords) enable_all_syncs = nullptr;
  decltype(&cuMemGetInfo) memory_info = nullptr;  ///< of the driver; null where there is none
  decltype(&cuCtxGetDevice) current_device = nullptr;

  std::uint32_t version = 0;
  std::string path;  ///< as it was asked for

  /// CUPTI's words for a result.
  [[nodiscard]] std::string text(CUptiResult result) const;
};

/// Loads the library `wanted`, or the first of: one that is loaded already, the system's. The error lists what was tried.
Result<CuptiLibrary> load_cupti(const std::string& wanted);

}  // namespace plimsoll
