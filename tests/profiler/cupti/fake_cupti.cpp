// A libcupti without a GPU: it keeps CUPTI's manners (buffers are asked for, filled and given back; dropped records are counted)
// and hands out the records of a small program when it is flushed by force. Built without FAKE_CUPTI_SINGLE_CALLS it is an older
// one, which can only record all calls or none.

#include <cupti.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <set>
#include <string>
#include <utility>

namespace {

CUpti_BuffersCallbackRequestFunc request = nullptr;
CUpti_BuffersCallbackCompleteFunc complete = nullptr;
std::uint64_t enabled = 0;
std::uint64_t external = 0;
bool delivered = false;
bool all_syncs = true;
bool buffers_come_zeroed = false;
std::uint64_t zeroed_here = 0, came_dirty = 0;  // buffers
std::set<std::pair<CUpti_ActivityKind, CUpti_CallbackId>> calls_off;

const char* name_of(CUpti_CallbackDomain domain, CUpti_CallbackId call) {
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API) {
    switch (call) {
      case CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020: return "cudaGetDevice_v3020";
      case CUPTI_RUNTIME_TRACE_CBID_cudaEventQuery_v3020: return "cudaEventQuery_v3020";
      case CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000: return "cudaLaunchKernel_v7000";
      case CUPTI_RUNTIME_TRACE_CBID_cudaStreamGetCaptureInfo_v2_ptsz_v11030: return "cudaStreamGetCaptureInfo_v2_ptsz_v11030";
      default: return nullptr;
    }
  }
  switch (call) {
    case CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent: return "cuCtxGetCurrent";
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel: return "cuLaunchKernel";
    default: return nullptr;
  }
}

std::uint64_t clock_now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
}

std::size_t size_of(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY: return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER: return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: return sizeof(CUpti_ActivitySynchronization2);
    case CUPTI_ACTIVITY_KIND_MEMORY2: return sizeof(CUpti_ActivityMemory4);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: return sizeof(CUpti_ActivityExternalCorrelation);
    case CUPTI_ACTIVITY_KIND_MARKER: return sizeof(CUpti_ActivityMarker2);
    default: return 0;
  }
}

/// Fills one buffer.
class Buffer {
 public:
  Buffer() {
    request(&bytes_, &size_, &most_);
    if (buffers_come_zeroed) {
      came_dirty += std::any_of(bytes_, bytes_ + size_, [](std::uint8_t byte) { return byte != 0; }) ? 1 : 0;
    } else {
      std::memset(bytes_, 0, size_);
      ++zeroed_here;
    }
  }

  template <typename Record>
  void add(const Record& record) {
    if ((enabled >> record.kind & 1u) == 0 || bytes_ == nullptr || used_ + sizeof(record) > size_) return;
    std::memcpy(bytes_ + used_, &record, sizeof(record));
    used_ += sizeof(record);
  }
  void deliver() { complete(nullptr, 0, bytes_, size_, used_); }

 private:
  std::uint8_t* bytes_ = nullptr;
  std::size_t size_ = 0, most_ = 0, used_ = 0;
};

/// A call of the program, unless it was switched off.
void add_call(Buffer& buffer, CUpti_ActivityKind kind, CUpti_CallbackId id, std::uint64_t start, std::uint32_t correlation) {
  if (calls_off.count({kind, id}) > 0) return;
  CUpti_ActivityAPI call{};
  call.kind = kind;
  call.cbid = id;
  call.start = start;
  call.end = start + 2'000;
  call.processId = 1;
  call.threadId = 77;
  call.correlationId = correlation;
  buffer.add(call);
}

/// Asks whether an event is past: "not yet", which newer libraries can leave out of what they say of waits.
void add_query(Buffer& buffer, std::uint64_t start) {
  add_call(buffer, CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaEventQuery_v3020, start, 9);
  CUpti_ActivitySynchronization2 sync{};
  sync.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  sync.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE;
  sync.start = start;
  sync.end = start + 1'000;
  sync.correlationId = 9;
  if (all_syncs) buffer.add(sync);
}

/// Links the launch with the instruction that the program names, if it does.
void add_external(Buffer& buffer) {
  CUpti_ActivityExternalCorrelation link{};
  link.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
  link.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
  link.externalId = external;
  link.correlationId = 5;
  if (external != 0) buffer.add(link);
}

void add_kernel(Buffer& buffer, std::uint64_t start) {
  CUpti_ActivityKernel10 kernel{};
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel.start = start;
  kernel.end = start + 20'000;
  kernel.streamId = 7;
  kernel.gridX = kernel.gridY = kernel.gridZ = 2;
  kernel.blockX = 128;
  kernel.blockY = kernel.blockZ = 1;
  kernel.correlationId = 5;
  kernel.name = "_Z6kernelPf";
  buffer.add(kernel);
}

void add_copy(Buffer& buffer, std::uint64_t start) {
  CUpti_ActivityMemcpy6 copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
  copy.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  copy.bytes = 4096;
  copy.start = start;
  copy.end = start + 10'000;
  copy.streamId = 7;
  copy.correlationId = 6;
  buffer.add(copy);
}

void deliver_program() {
  const std::uint64_t now = clock_now() - 1'000'000;
  Buffer buffer;
  CUpti_ActivityMarker2 marker{};
  marker.kind = CUPTI_ACTIVITY_KIND_MARKER;
  marker.flags = CUPTI_ACTIVITY_FLAG_MARKER_START;
  marker.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  marker.id = 1;
  marker.timestamp = now;
  marker.name = "step 0";
  buffer.add(marker);
  add_call(buffer, CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020, now - 9'000, 2);
  add_call(buffer, CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaStreamGetCaptureInfo_v2_ptsz_v11030, now - 6'000, 3);
  add_call(buffer, CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent, now - 3'000, 4);
  add_call(buffer, CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, now + 1'000, 5);
  add_call(buffer, CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, now + 5'000, 8);
  add_query(buffer, now + 9'000);
  add_external(buffer);
  add_kernel(buffer, now + 10'000);
  add_copy(buffer, now + 31'000);
  marker.flags = CUPTI_ACTIVITY_FLAG_MARKER_END;
  marker.timestamp = now + 50'000;
  marker.name = nullptr;
  buffer.add(marker);
  buffer.deliver();
}

}  // namespace

extern "C" {

CUptiResult CUPTIAPI cuptiGetVersion(std::uint32_t* version) {
  *version = std::getenv("FAKE_CUPTI_OLD") == nullptr ? CUPTI_API_VERSION : 3;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiGetTimestamp(std::uint64_t* time) {
  *time = clock_now();
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult result, const char** text) {
  *text = result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" : "CUPTI_ERROR_UNKNOWN";
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiGetCallbackName(CUpti_CallbackDomain domain, std::uint32_t call, const char** name) {
  *name = name_of(domain, call);
  return *name == nullptr ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind) {
  const char* const forbidden = std::getenv("FAKE_CUPTI_FORBIDDEN");  // a kind, or "all"
  const bool is_forbidden = forbidden != nullptr && (std::string(forbidden) == "all" || std::atoi(forbidden) == kind);
  if (is_forbidden) return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  enabled |= std::uint64_t{1} << kind;
  std::erase_if(calls_off, [kind](const auto& call) { return call.first == kind; });  // a kind sets all its calls back
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind) {
  enabled &= ~(std::uint64_t{1} << kind);
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc asks,
                                                    CUpti_BuffersCallbackCompleteFunc ends) {
  request = asks;
  complete = ends;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid, CUpti_Activity** record) {
  std::uint8_t* const next = *record == nullptr ? buffer : reinterpret_cast<std::uint8_t*>(*record) + size_of((*record)->kind);
  if (next >= buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* dropped) {
  const char* const told = std::getenv("FAKE_CUPTI_DROPPED");
  *dropped = told == nullptr ? 0 : std::stoul(told);
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityFlushAll(std::uint32_t flag) {
  const bool early = std::getenv("FAKE_CUPTI_EARLY") != nullptr;
  const bool again = std::getenv("FAKE_CUPTI_AGAIN") != nullptr;
  if ((flag != 0 || early) && (!delivered || again) && request != nullptr) {
    delivered = true;
    deliver_program();
  }
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, std::size_t* size, void* value) {
  if (attribute == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER) {
    if (*size != sizeof(std::uint8_t)) return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
    buffers_come_zeroed = *static_cast<std::uint8_t*>(value) != 0;
  }
  return CUPTI_SUCCESS;
}
#ifdef FAKE_CUPTI_SINGLE_CALLS
/// Refuses what a kind was not enabled for: to switch a call off alone is a mistake of the order, not a wish.
static CUptiResult enable_single(CUpti_ActivityKind kind, CUpti_CallbackId call, std::uint8_t enable) {
  if ((enabled >> kind & 1u) == 0) return CUPTI_ERROR_INVALID_OPERATION;
  if (enable == 0) calls_off.insert({kind, call});
  if (enable != 0) calls_off.erase({kind, call});
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityEnableRuntimeApi(CUpti_CallbackId call, std::uint8_t enable) {
  return enable_single(CUPTI_ACTIVITY_KIND_RUNTIME, call, enable);
}
CUptiResult CUPTIAPI cuptiActivityEnableDriverApi(CUpti_CallbackId call, std::uint8_t enable) {
  return enable_single(CUPTI_ACTIVITY_KIND_DRIVER, call, enable);
}
CUptiResult CUPTIAPI cuptiActivityEnableAllSyncRecords(std::uint8_t enable) {
  all_syncs = enable != 0;
  return CUPTI_SUCCESS;
}
#endif
CUptiResult CUPTIAPI cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind, std::uint64_t id) {
  external = id;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind, std::uint64_t* last) {
  *last = external;
  return CUPTI_SUCCESS;
}

/// Tells a test what the program was left with.
__attribute__((destructor)) void note_what_is_enabled() {
  const char* const file = std::getenv("FAKE_CUPTI_LEFT");
  if (file != nullptr) std::ofstream(file) << enabled << " " << zeroed_here << " " << came_dirty << "\n";
}

}  // extern "C"
