// A libcupti without a GPU: it keeps CUPTI's manners (buffers are asked for, filled and given back; dropped records are counted)
// and hands out the records of a small program when it is flushed by force.

#include <cupti.h>

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string>

namespace {

CUpti_BuffersCallbackRequestFunc request = nullptr;
CUpti_BuffersCallbackCompleteFunc complete = nullptr;
std::uint64_t enabled = 0;
std::uint64_t external = 0;
bool delivered = false;

std::uint64_t clock_now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
}

std::size_t size_of(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY: return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_RUNTIME: return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_MEMORY2: return sizeof(CUpti_ActivityMemory4);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: return sizeof(CUpti_ActivityExternalCorrelation);
    case CUPTI_ACTIVITY_KIND_MARKER: return sizeof(CUpti_ActivityMarker2);
    default: return 0;
  }
}

/// Fills one buffer.
class Buffer {
 public:
  Buffer() { request(&bytes_, &size_, &most_); }

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
  CUpti_ActivityAPI call{};
  call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  call.cbid = 211;
  call.start = now + 1'000;
  call.end = now + 3'000;
  call.processId = 1;
  call.threadId = 77;
  call.correlationId = 5;
  buffer.add(call);
  CUpti_ActivityExternalCorrelation link{};
  link.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
  link.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
  link.externalId = external;
  link.correlationId = 5;
  if (external != 0) buffer.add(link);
  CUpti_ActivityKernel10 kernel{};
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel.start = now + 10'000;
  kernel.end = now + 30'000;
  kernel.streamId = 7;
  kernel.gridX = kernel.gridY = kernel.gridZ = 2;
  kernel.blockX = 128;
  kernel.blockY = kernel.blockZ = 1;
  kernel.correlationId = 5;
  kernel.name = "_Z6kernelPf";
  buffer.add(kernel);
  CUpti_ActivityMemcpy6 copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
  copy.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  copy.bytes = 4096;
  copy.start = now + 31'000;
  copy.end = now + 41'000;
  copy.streamId = 7;
  copy.correlationId = 6;
  buffer.add(copy);
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
CUptiResult CUPTIAPI cuptiGetCallbackName(CUpti_CallbackDomain, std::uint32_t, const char** name) {
  *name = "cudaLaunchKernel_v7000";
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind) {
  const char* const forbidden = std::getenv("FAKE_CUPTI_FORBIDDEN");  // a kind, or "all"
  const bool is_forbidden = forbidden != nullptr && (std::string(forbidden) == "all" || std::atoi(forbidden) == kind);
  if (is_forbidden) return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  enabled |= std::uint64_t{1} << kind;
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
  if ((flag != 0 || early) && !delivered && request != nullptr) {
    delivered = true;
    deliver_program();
  }
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivitySetAttribute(CUpti_ActivityAttribute, std::size_t*, void*) { return CUPTI_SUCCESS; }
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
  if (file != nullptr) std::ofstream(file) << enabled << "\n";
}

}  // extern "C"
