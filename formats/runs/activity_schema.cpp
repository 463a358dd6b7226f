#include "formats/runs/activity_schema.h"

#include <array>

namespace plimsoll {
namespace {

struct Entry {
  std::string_view name;
  std::string_view sql;
};

// In the order of ActivityTable. "end" is a word of SQL and stands in quotes.
constexpr std::array<Entry, 22> kTables{{
    {"StringIds", "CREATE TABLE StringIds(id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)"},
    {"CUPTI_ACTIVITY_KIND_KERNEL",
     R"(CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER NOT NULL, "end" INTEGER NOT NULL, deviceId INTEGER NOT NULL,
contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, launchType INTEGER, cacheConfig INTEGER,
registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL,
blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL,
dynamicSharedMemory INTEGER NOT NULL, localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL,
gridId INTEGER NOT NULL, sharedMemoryExecuted INTEGER, graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER))"},
    {"CUPTI_ACTIVITY_KIND_MEMCPY",
     R"(CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER NOT NULL, "end" INTEGER NOT NULL, deviceId INTEGER NOT NULL,
contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, deprecatedSrcId INTEGER, srcKind INTEGER, dstKind INTEGER,
srcDeviceId INTEGER, srcContextId INTEGER, dstDeviceId INTEGER, dstContextId INTEGER, migrationCause INTEGER,
graphNodeId INTEGER, virtualAddress INTEGER))"},
    {"CUPTI_ACTIVITY_KIND_MEMSET",
     R"(CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(start INTEGER NOT NULL, "end" INTEGER NOT NULL, deviceId INTEGER NOT NULL,
contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
value INTEGER NOT NULL, bytes INTEGER NOT NULL, graphNodeId INTEGER, memKind INTEGER))"},
    {"CUPTI_ACTIVITY_KIND_RUNTIME",
     R"(CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER NOT NULL, "end" INTEGER NOT NULL, eventClass INTEGER NOT NULL,
globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER))"},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
     R"(CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(start INTEGER NOT NULL, "end" INTEGER NOT NULL,
deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER,
globalPid INTEGER, syncType INTEGER NOT NULL, eventId INTEGER NOT NULL))"},
    {"CUDA_GPU_MEMORY_USAGE_EVENTS",
     R"(CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS(start INTEGER NOT NULL, globalPid INTEGER NOT NULL, deviceId INTEGER NOT NULL,
contextId INTEGER NOT NULL, address INTEGER NOT NULL, pc INTEGER NOT NULL, bytes INTEGER NOT NULL, memKind INTEGER NOT NULL,
memoryOperationType INTEGER NOT NULL, name TEXT, correlationId INTEGER, streamId INTEGER, localMemoryPoolAddress INTEGER,
localMemoryPoolReleaseThreshold INTEGER, localMemoryPoolSize INTEGER, localMemoryPoolUtilizedSize INTEGER,
importedMemoryPoolAddress INTEGER, importedMemoryPoolProcessId INTEGER))"},
    {"NVTX_EVENTS",
     R"(CREATE TABLE NVTX_EVENTS(start INTEGER NOT NULL, "end" INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER,
category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER,
uint64Value INTEGER, int64Value INTEGER, doubleValue REAL, uint32Value INTEGER, int32Value INTEGER, floatValue REAL,
jsonTextId INTEGER, jsonText TEXT, binaryData TEXT))"},
    {"TARGET_INFO_GPU",
     R"(CREATE TABLE TARGET_INFO_GPU(vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, busLocation TEXT, isDiscrete INTEGER,
l2CacheSize INTEGER, totalMemory INTEGER, memoryBandwidth INTEGER, clockRate INTEGER, smCount INTEGER, pwGpuId INTEGER, uuid TEXT,
luid INTEGER, chipName TEXT, cuDevice INTEGER, computeMajor INTEGER, computeMinor INTEGER, smMajor INTEGER, smMinor INTEGER))"},
    {"TARGET_INFO_CUDA_STREAM",
     R"(CREATE TABLE TARGET_INFO_CUDA_STREAM(streamId INTEGER NOT NULL, hwId INTEGER NOT NULL, vmId INTEGER NOT NULL,
processId INTEGER NOT NULL, contextId INTEGER NOT NULL, priority INTEGER NOT NULL, flag INTEGER NOT NULL))"},
    {"TARGET_INFO_SESSION_START_TIME",
     "CREATE TABLE TARGET_INFO_SESSION_START_TIME(utcEpochNs INTEGER, utcTime TEXT, localTime TEXT)"},
    {"ANALYSIS_DETAILS",
     R"(CREATE TABLE ANALYSIS_DETAILS(globalVid INTEGER NOT NULL, duration INTEGER NOT NULL, startTime INTEGER NOT NULL,
stopTime INTEGER NOT NULL))"},
    {"META_DATA_EXPORT", "CREATE TABLE META_DATA_EXPORT(name TEXT NOT NULL, value TEXT)"},
    {"ThreadNames", "CREATE TABLE ThreadNames(nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER)"},
    {"ENUM_CUDA_MEMCPY_OPER",
     R"(CREATE TABLE ENUM_CUDA_MEMCPY_OPER(id INTEGER PRIMARY KEY, name TEXT, label TEXT); INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES
(0,'CUDA_MEMCPY_KIND_UNKNOWN','Unknown'),(1,'CUDA_MEMCPY_KIND_HTOD','Host-to-Device'),(2,'CUDA_MEMCPY_KIND_DTOH','Device-to-Host'),
(3,'CUDA_MEMCPY_KIND_HTOA','Host-to-Array'),(4,'CUDA_MEMCPY_KIND_ATOH','Array-to-Host'),(5,'CUDA_MEMCPY_KIND_ATOA','Array-to-Array'),
(6,'CUDA_MEMCPY_KIND_ATOD','Array-to-Device'),(7,'CUDA_MEMCPY_KIND_DTOA','Device-to-Array'),
(8,'CUDA_MEMCPY_KIND_DTOD','Device-to-Device'),(9,'CUDA_MEMCPY_KIND_HTOH','Host-to-Host'),
(10,'CUDA_MEMCPY_KIND_PTOP','Peer-to-Peer'),(11,'CUDA_MEMCPY_KIND_UVM_HTOD','Unified Host-to-Device'),
(12,'CUDA_MEMCPY_KIND_UVM_DTOH','Unified Device-to-Host'),(13,'CUDA_MEMCPY_KIND_UVM_DTOD','Unified Device-to-Device'))"},
    {"ENUM_CUDA_MEM_KIND",
     R"(CREATE TABLE ENUM_CUDA_MEM_KIND(id INTEGER PRIMARY KEY, name TEXT, label TEXT); INSERT INTO ENUM_CUDA_MEM_KIND VALUES
(0,'CUDA_MEMOPR_MEMORY_KIND_PAGEABLE','Pageable'),(1,'CUDA_MEMOPR_MEMORY_KIND_PINNED','Pinned'),
(2,'CUDA_MEMOPR_MEMORY_KIND_DEVICE','Device'),(3,'CUDA_MEMOPR_MEMORY_KIND_ARRAY','Array'),
(4,'CUDA_MEMOPR_MEMORY_KIND_MANAGED','Managed'),(5,'CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC','Device Static'),
(6,'CUDA_MEMOPR_MEMORY_KIND_MANAGED_STATIC','Managed Static'),(7,'CUDA_MEMOPR_MEMORY_KIND_UNKNOWN','Unknown'))"},
    {"ENUM_CUPTI_SYNC_TYPE",
     R"(CREATE TABLE ENUM_CUPTI_SYNC_TYPE(id INTEGER PRIMARY KEY, name TEXT, label TEXT); INSERT INTO ENUM_CUPTI_SYNC_TYPE VALUES
(0,'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN','Unknown'),
(1,'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE','Event Sync'),
(2,'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT','Stream Wait Event Sync'),
(3,'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE','Stream Sync'),
(4,'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE','Context Sync'))"},
    {"ENUM_NSYS_EVENT_TYPE",
     R"(CREATE TABLE ENUM_NSYS_EVENT_TYPE(id INTEGER PRIMARY KEY, name TEXT, label TEXT); INSERT INTO ENUM_NSYS_EVENT_TYPE VALUES
(34,'NvtxMark','Mark'),(59,'NvtxPushPopRange','Push/Pop Range'),(60,'NvtxStartEndRange','Start/End Range'))"},
    {"activity_instructions",
     R"(CREATE TABLE activity_instructions(correlationId INTEGER NOT NULL, globalPid INTEGER NOT NULL, step INTEGER NOT NULL,
instruction INTEGER NOT NULL))"},
    {"activity_losses", "CREATE TABLE activity_losses(what TEXT NOT NULL, count INTEGER NOT NULL)"},
    {"activity_readings",
     R"(CREATE TABLE activity_readings(time INTEGER NOT NULL, deviceId INTEGER NOT NULL, freeBytes INTEGER NOT NULL,
totalBytes INTEGER NOT NULL))"},
    {"activity_event_waits",
     R"(CREATE TABLE activity_event_waits(correlationId INTEGER NOT NULL, globalPid INTEGER NOT NULL,
recordCorrelationId INTEGER NOT NULL, recordStreamId INTEGER NOT NULL))"},
}};

}  // namespace

std::string_view name_of(ActivityTable table) { return kTables[static_cast<std::size_t>(table)].name; }
std::string_view schema_of(ActivityTable table) { return kTables[static_cast<std::size_t>(table)].sql; }

}  // namespace plimsoll
