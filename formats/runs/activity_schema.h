#pragma once

#include <string_view>

namespace plimsoll {

/// Tables of device activity, each made when there is a row for it: those of an Nsight Systems export (schema 3.16), name by name
/// and column by column, and a few of our own, whose names begin with "activity_".
enum class ActivityTable {
  kStringIds,
  kKernel,
  kMemcpy,
  kMemset,
  kRuntime,
  kSynchronization,
  kMemoryUsage,
  kNvtx,
  kGpuInfo,
  kStreamInfo,
  kSessionStart,
  kAnalysisDetails,
  kExportMeta,
  kThreadNames,
  kMemcpyOperations,
  kMemoryKinds,
  kSyncTypes,
  kNvtxTypes,
  kInstructions,
  kLosses,
  kReadings,
  kEventWaits,
};

/// The table's name, and the statement that makes it (with its rows, where these are fixed).
std::string_view name_of(ActivityTable table);
std::string_view schema_of(ActivityTable table);

}  // namespace plimsoll
