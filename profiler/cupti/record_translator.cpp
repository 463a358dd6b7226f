#include "profiler/cupti/record_translator.h"

#include <cupti_activity_deprecated.h>

#include <cstddef>

#include "profiler/cupti/calls_left_out.h"

namespace plimsoll {
namespace {

// Another CUPTI than the one this was compiled against may hand out an older form of a record. What is read here stands at the
// same place in all of them; members that came later are read only from a CUPTI that has them.
#define PLIMSOLL_SAME_PLACE(member)                                                                    \
  static_assert(offsetof(CUpti_ActivityKernel5, member) == offsetof(CUpti_ActivityKernel10, member) && \
                offsetof(CUpti_ActivityKernel9, member) == offsetof(CUpti_ActivityKernel10, member))
PLIMSOLL_SAME_PLACE(start);
PLIMSOLL_SAME_PLACE(streamId);
PLIMSOLL_SAME_PLACE(gridX);
PLIMSOLL_SAME_PLACE(correlationId);
PLIMSOLL_SAME_PLACE(name);
PLIMSOLL_SAME_PLACE(graphNodeId);
#undef PLIMSOLL_SAME_PLACE
static_assert(offsetof(CUpti_ActivityMemcpy5, graphNodeId) == offsetof(CUpti_ActivityMemcpy6, graphNodeId));
static_assert(offsetof(CUpti_ActivitySynchronization, cudaEventId) == offsetof(CUpti_ActivitySynchronization2, cudaEventId));
static_assert(offsetof(CUpti_ActivityCudaEvent, eventId) == offsetof(CUpti_ActivityCudaEvent2, eventId));
static_assert(offsetof(CUpti_ActivityMemory3, streamId) == offsetof(CUpti_ActivityMemory4, streamId));

/// CUDA 13's, whose waits and events carry a serial number.
constexpr std::uint32_t kWithEventSerials = 130000;

template <typename Record>
const Record& as(const CUpti_Activity& record) {
  return reinterpret_cast<const Record&>(record);
}

std::string_view text_of(const char* text) { return text == nullptr ? std::string_view() : std::string_view(text); }

/// CUPTI numbers memory kinds from 1 (pageable); Nsight's enumeration, which the spool keeps, has 0 for it and 7 for unknown.
std::uint8_t memory_kind(std::uint32_t kind) { return kind == 0 || kind > 7 ? 7 : static_cast<std::uint8_t>(kind - 1); }

/// Within a device's reach or between two devices.
template <typename Copy>
CopyRecord copy_record(const Copy& copy) {
  return {.start = copy.start,
          .end = copy.end,
          .bytes = copy.bytes,
          .graph_node = copy.graphNodeId,
          .device = copy.deviceId,
          .context = copy.contextId,
          .stream = copy.streamId,
          .correlation = copy.correlationId,
          .kind = copy.copyKind,
          .source_kind = memory_kind(copy.srcKind),
          .target_kind = memory_kind(copy.dstKind)};
}

}  // namespace

void RecordTranslator::translate(const CUpti_Activity& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL: return kernel(record);
    case CUPTI_ACTIVITY_KIND_MEMCPY: return copy(record);
    case CUPTI_ACTIVITY_KIND_MEMCPY2: return peer_copy(record);
    case CUPTI_ACTIVITY_KIND_MEMSET: return fill(record);
    case CUPTI_ACTIVITY_KIND_MEMORY2: return memory(record);
    case CUPTI_ACTIVITY_KIND_RUNTIME: return call(record, CUPTI_CB_DOMAIN_RUNTIME_API);
    case CUPTI_ACTIVITY_KIND_DRIVER: return call(record, CUPTI_CB_DOMAIN_DRIVER_API);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: return synchronization(record);
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT: return event(record);
    case CUPTI_ACTIVITY_KIND_MARKER: return marker(record);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: return external(record);
    case CUPTI_ACTIVITY_KIND_DEVICE: return device(record);
    default: return;
  }
}

void RecordTranslator::kernel(const CUpti_Activity& record) {
  const auto& kernel = as<CUpti_ActivityKernel10>(record);
  spool_.add(KernelRecord{.start = kernel.start,
                          .end = kernel.end,
                          .graph_node = kernel.graphNodeId,
                          .grid = {kernel.gridX, kernel.gridY, kernel.gridZ},
                          .block = {kernel.blockX, kernel.blockY, kernel.blockZ},
                          .device = kernel.deviceId,
                          .context = kernel.contextId,
                          .stream = kernel.streamId,
                          .correlation = kernel.correlationId,
                          .name = spool_.name(text_of(kernel.name)),
                          .registers = kernel.registersPerThread,
                          .static_shared = kernel.staticSharedMemory,
                          .dynamic_shared = kernel.dynamicSharedMemory,
                          .local = kernel.localMemoryPerThread});
}

void RecordTranslator::copy(const CUpti_Activity& record) { spool_.add(copy_record(as<CUpti_ActivityMemcpy6>(record))); }

void RecordTranslator::peer_copy(const CUpti_Activity& record) {
  spool_.add(copy_record(as<CUpti_ActivityMemcpyPtoP4>(record)));
}

void RecordTranslator::fill(const CUpti_Activity& record) {
  const auto& fill = as<CUpti_ActivityMemset4>(record);
  spool_.add(FillRecord{.start = fill.start,
                        .end = fill.end,
                        .bytes = fill.bytes,
                        .graph_node = fill.graphNodeId,
                        .device = fill.deviceId,
                        .context = fill.contextId,
                        .stream = fill.streamId,
                        .correlation = fill.correlationId,
                        .value = fill.value,
                        .memory_kind = memory_kind(fill.memoryKind)});
}

void RecordTranslator::memory(const CUpti_Activity& record) {
  const auto& memory = as<CUpti_ActivityMemory4>(record);
  const bool released = memory.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
  if (!released && memory.memoryOperationType != CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION) return;
  spool_.add(MemoryRecord{.time = memory.timestamp,
                          .address = memory.address,
                          .bytes = memory.bytes,
                          .device = memory.deviceId,
                          .context = memory.contextId,
                          .stream = memory.streamId,
                          .correlation = memory.correlationId,
                          .released = static_cast<std::uint8_t>(released ? 1 : 0),
                          .memory_kind = memory_kind(static_cast<std::uint32_t>(memory.memoryKind))});
}

std::uint32_t RecordTranslator::name_of_call(CUpti_CallbackDomain domain, CUpti_CallbackId call) {
  CallNames& names = domain == CUPTI_CB_DOMAIN_RUNTIME_API ? runtime_names_ : driver_names_;
  const bool fits = call < names.size();
  if (const std::uint32_t known = fits ? names[call].load(std::memory_order_acquire) : 0; known != 0) return known - 1;
  const char* name = nullptr;
  if (cupti_.get_callback_name(domain, call, &name) != CUPTI_SUCCESS) name = nullptr;
  const std::uint32_t number = spool_.name(call_name(text_of(name)));
  if (fits) names[call].store(number + 1, std::memory_order_release);
  return number;
}

void RecordTranslator::call(const CUpti_Activity& record, CUpti_CallbackDomain domain) {
  const auto& call = as<CUpti_ActivityAPI>(record);
  spool_.add(CallRecord{.start = call.start,
                        .end = call.end,
                        .process = call.processId,
                        .thread = call.threadId,
                        .correlation = call.correlationId,
                        .name = name_of_call(domain, call.cbid),
                        .result = static_cast<std::int32_t>(call.returnValue)});
}

void RecordTranslator::synchronization(const CUpti_Activity& record) {
  const auto& sync = as<CUpti_ActivitySynchronization2>(record);
  spool_.add(SyncRecord{.start = sync.start,
                        .end = sync.end,
                        .event_sync = cupti_.version >= kWithEventSerials ? sync.cudaEventSyncId : 0,
                        .correlation = sync.correlationId,
                        .context = sync.contextId,
                        .stream = sync.streamId,
                        .event = sync.cudaEventId,
                        .kind = static_cast<std::uint32_t>(sync.type)});
}

void RecordTranslator::event(const CUpti_Activity& record) {
  const auto& event = as<CUpti_ActivityCudaEvent2>(record);
  spool_.add(EventRecord{.event_sync = cupti_.version >= kWithEventSerials ? event.cudaEventSyncId : 0,
                         .correlation = event.correlationId,
                         .context = event.contextId,
                         .stream = event.streamId,
                         .event = event.eventId});
}

void RecordTranslator::marker(const CUpti_Activity& record) {
  const auto& marker = as<CUpti_ActivityMarker2>(record);
  const bool begins = (marker.flags & CUPTI_ACTIVITY_FLAG_MARKER_START) != 0;
  const bool ends = (marker.flags & CUPTI_ACTIVITY_FLAG_MARKER_END) != 0;
  const std::uint32_t thread = marker.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD ? marker.objectId.pt.threadId : 0;
  spool_.add(MarkRecord{.time = marker.timestamp,
                        .id = marker.id,
                        .thread = thread,
                        .name = spool_.name(text_of(marker.name)),
                        .kind = begins ? MarkKind::kBegin
                                : ends ? MarkKind::kEnd
                                       : MarkKind::kMoment});
}

void RecordTranslator::external(const CUpti_Activity& record) {
  const auto& external = as<CUpti_ActivityExternalCorrelation>(record);
  if (external.externalKind != CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0) return;  // another tool's
  spool_.add(ExternalRecord{.external = external.externalId, .correlation = external.correlationId});
}

void RecordTranslator::device(const CUpti_Activity& record) {
  const auto& device = as<CUpti_ActivityDevice5>(record);
  spool_.add(DeviceRecord{.memory = device.globalMemorySize,
                          .device = device.id,
                          .name = spool_.name(text_of(device.name)),
                          .compute_major = device.computeCapabilityMajor,
                          .compute_minor = device.computeCapabilityMinor,
                          .multiprocessors = device.numMultiprocessors});
}

}  // namespace plimsoll
