#include "profiler/cupti/cupti_library.h"

#include <dlfcn.h>

#include <array>
#include <utility>

#include "profiler/cupti/activity_capture.h"

namespace plimsoll {
namespace {

/// CUDA 12.0's: the first whose records begin as those that this was compiled against.
constexpr std::uint32_t kOldestVersion = 18;

constexpr std::array<const char*, 5> kNames{"libcupti.so.13", "libcupti.so.12", "libcupti.so",
                                            "/usr/local/cuda/lib64/libcupti.so",
                                            "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"};

/// The library and the name by which it was found.
std::pair<void*, std::string> open_first(const std::string& wanted) {
  if (!wanted.empty()) return {::dlopen(wanted.c_str(), RTLD_NOW | RTLD_GLOBAL), wanted};
  for (const char* name : kNames) {
    if (void* const loaded = ::dlopen(name, RTLD_NOW | RTLD_NOLOAD)) return {loaded, name};
  }
  for (const char* name : kNames) {
    if (void* const found = ::dlopen(name, RTLD_NOW | RTLD_GLOBAL)) return {found, name};
  }
  return {nullptr, {}};
}

Error not_found(const std::string& wanted) {
  const char* const why = ::dlerror();
  std::string tried = wanted;
  for (const char* name : kNames) tried += wanted.empty() ? std::string(tried.empty() ? "" : ", ") + name : std::string();
  return {.kind = ErrorKind::kEnvironment,
          .what = std::string("CUPTI cannot be loaded: ") + (why == nullptr ? "no reason given" : why),
          .where = tried,
          .remedy = "install the CUDA toolkit's CUPTI (apt: cuda-cupti, pip: nvidia-cuda-cupti), or name it with --cupti FILE"};
}

class Symbols {
 public:
  explicit Symbols(void* library) : library_(library) {}

  template <typename Function>
  void load(Function& function, const char* name) {
    load_if_there(function, name);
    if (function == nullptr && missing_.empty()) missing_ = name;
  }
  template <typename Function>
  void load_if_there(Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(library_, name));
  }
  [[nodiscard]] const std::string& missing() const { return missing_; }

 private:
  void* library_;
  std::string missing_;
};

/// Only what the program has loaded: a capture must not be the one that starts a driver.
void load_driver(CuptiLibrary& cupti) {
  void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver == nullptr) return;
  cupti.memory_info = reinterpret_cast<decltype(cupti.memory_info)>(::dlsym(driver, "cuMemGetInfo_v2"));
  cupti.current_device = reinterpret_cast<decltype(cupti.current_device)>(::dlsym(driver, "cuCtxGetDevice"));
}

}  // namespace

int listen_to_nvtx(const std::string& wanted, void* nvtx_functions) {
  const auto [library, path] = open_first(wanted);
  if (library == nullptr) return 0;
  auto* const initialize = reinterpret_cast<int (*)(void*)>(::dlsym(library, "InitializeInjectionNvtx2"));
  return initialize == nullptr ? 0 : initialize(nvtx_functions);
}

std::string CuptiLibrary::text(CUptiResult result) const {
  const char* words = nullptr;
  if (get_result_string != nullptr) get_result_string(result, &words);
  return words == nullptr ? "CUPTI error " + std::to_string(static_cast<int>(result)) : std::string(words);
}

Result<CuptiLibrary> load_cupti(const std::string& wanted) {
  const auto [library, path] = open_first(wanted);
  if (library == nullptr) return fail(not_found(wanted));
  CuptiLibrary cupti{.path = path};
  Symbols symbols(library);
  symbols.load(cupti.get_version, "cuptiGetVersion");
  symbols.load(cupti.get_timestamp, "cuptiGetTimestamp");
  symbols.load(cupti.get_result_string, "cuptiGetResultString");
  symbols.load(cupti.get_callback_name, "cuptiGetCallbackName");
  symbols.load(cupti.enable, "cuptiActivityEnable");
  symbols.load(cupti.disable, "cuptiActivityDisable");
  symbols.load(cupti.register_callbacks, "cuptiActivityRegisterCallbacks");
  symbols.load(cupti.get_next_record, "cuptiActivityGetNextRecord");
  symbols.load(cupti.get_dropped, "cuptiActivityGetNumDroppedRecords");
  symbols.load(cupti.flush_all, "cuptiActivityFlushAll");
  symbols.load(cupti.set_attribute, "cuptiActivitySetAttribute");
  symbols.load(cupti.push_external, "cuptiActivityPushExternalCorrelationId");
  symbols.load(cupti.pop_external, "cuptiActivityPopExternalCorrelationId");
  symbols.load_if_there(cupti.enable_runtime_call, "cuptiActivityEnableRuntimeApi");
  symbols.load_if_there(cupti.enable_driver_call, "cuptiActivityEnableDriverApi");
  symbols.load_if_there(cupti.enable_all_syncs, "cuptiActivityEnableAllSyncRecords");
  if (!symbols.missing().empty()) {
    return fail({.kind = ErrorKind::kEnvironment,
                 .what = "this CUPTI has no " + symbols.missing(),
                 .where = path,
                 .remedy = "install CUPTI of CUDA 12 or newer"});
  }
  if (cupti.get_version(&cupti.version) != CUPTI_SUCCESS || cupti.version < kOldestVersion) {
    return fail({.kind = ErrorKind::kEnvironment,
                 .what = "CUPTI version " + std::to_string(cupti.version) + " is too old",
                 .where = path,
                 .remedy = "install CUPTI of CUDA 12 or newer"});
  }
  load_driver(cupti);
  return cupti;
}

}  // namespace plimsoll
