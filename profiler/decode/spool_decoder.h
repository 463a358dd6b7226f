#pragma once

#include <map>
#include <utility>
#include <vector>

#include "core/trace/recording.h"
#include "profiler/decode/clock_fit.h"
#include "profiler/decode/spool_records.h"

namespace plimsoll {

/// Turns the records of one process's spool into a Recording's, on the capture's clock until finish() sets them right.
class SpoolDecoder {
 public:
  /// Adds to `recording`, which outlives it.
  SpoolDecoder(Recording& recording, std::uint32_t process);

  void take(const SpoolRecord& record);
  /// Joins what belongs together, moves all that was taken to the calendar's clock less the recording's epoch, and gives the fit.
  ClockFit finish();
  /// Functions of CUDA whose calls were left out, since they only ask.
  [[nodiscard]] std::uint64_t functions_left_out() const { return functions_left_out_; }

 private:
  void on(const KernelRecord& record);
  void on(const CopyRecord& record);
  void on(const FillRecord& record);
  void on(const MemoryRecord& record);
  void on(const CallRecord& record);
  void on(const SyncRecord& record);
  void on(const EventRecord& record);
  void on(const MarkRecord& record);
  void on(const ExternalRecord& record);
  void on(const LostRecord& record);
  void on(const ClockRecord& record);
  void on(const ReadingRecord& record);
  void on(const DeviceRecord& record);
  void on(const EndRecord&) {}
  void on(const NameRecord& record);
  void on(const LeftOutRecord& record) { functions_left_out_ = record.functions; }

  [[nodiscard]] NameId name_of(std::uint32_t id);
  [[nodiscard]] DeviceStream stream_of(std::uint32_t device, std::uint32_t context, std::uint32_t stream) const;
  [[nodiscard]] const EventRecord* recorded_event(const SyncRecord& sync) const;
  void join_events();
  void move_times(const ClockFit& fit);

  /// How long each list of the recording was before this spool.
  struct Marks {
    std::size_t work, calls, waits, ranges, allocations, readings;
  };

  Recording& recording_;
  std::uint32_t process_;
  Marks before_;
  std::uint64_t functions_left_out_ = 0;
  std::vector<NameId> names_;
  std::map<std::uint32_t, std::uint32_t> device_of_context_;
  std::map<std::uint32_t, MarkRecord> open_ranges_;
  std::map<std::uint64_t, std::int64_t> live_bytes_;  ///< by address
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<EventRecord>> events_;  ///< by context and event
  std::vector<std::pair<std::size_t, SyncRecord>> event_waits_;  ///< index into waits, and what it waits for
  std::vector<ClockPair> clocks_;
};

}  // namespace plimsoll
