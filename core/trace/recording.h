#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/quantity.h"
#include "core/base/strong_id.h"

namespace plimsoll {

using NameId = StrongId<struct RecordedNameTag>;

/// Texts, each kept once; ids count up from 0.
class NamePool {
 public:
  NameId add(std::string_view text);
  [[nodiscard]] const std::string& at(NameId id) const { return texts_[id.index]; }
  [[nodiscard]] std::size_t size() const { return texts_.size(); }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> ids_;
};

/// A stream of one process's device.
struct DeviceStream {
  std::uint32_t process = 0;
  std::uint32_t device = 0;
  std::uint32_t context = 0;
  std::int64_t stream = 0;

  auto operator<=>(const DeviceStream&) const = default;
};

enum class DeviceWorkKind : std::uint8_t { kKernel, kCopy, kFill };

inline constexpr std::uint32_t kNoShape = 0xffffffffu;
/// What memory a copy joins when nobody said: Nsight's "unknown".
inline constexpr std::uint8_t kUnknownMemoryKind = 7;
inline constexpr std::uint8_t kPageableMemoryKind = 0;
inline constexpr std::uint8_t kDeviceMemoryKind = 2;

/// One kernel, copy or fill as the device ran it.
struct DeviceWork {
  Nanoseconds start;
  Nanoseconds end;
  std::uint64_t correlation = 0;  ///< joins it with the HostCall of its process that submitted it; 0: unknown
  std::int64_t bytes = 0;         ///< of a copy or a fill
  DeviceStream on;
  NameId name;
  std::uint32_t shape = kNoShape;     ///< of a kernel, into Recording::shapes
  std::uint64_t graph_node = 0;       ///< of work that a CUDA graph launched
  DeviceWorkKind kind = DeviceWorkKind::kKernel;
  std::uint8_t copy_kind = 0;  ///< as CUPTI and Nsight number them: 1 host to device, 2 device to host, 8 within devices, …
  std::uint8_t source_kind = kUnknownMemoryKind;  ///< 0 pageable, 1 pinned, 2 device, 3 array, 4 managed, …
  std::uint8_t target_kind = kUnknownMemoryKind;
};

/// How a kernel was launched.
struct LaunchShape {
  std::array<std::int32_t, 3> grid{};
  std::array<std::int32_t, 3> block{};
  std::int32_t registers = 0;  ///< a thread
  std::int32_t static_shared = 0;
  std::int32_t dynamic_shared = 0;
  std::int64_t local = 0;  ///< bytes a thread

  bool operator==(const LaunchShape&) const = default;
};

/// A thread of a recorded process.
struct RecordedThread {
  std::uint32_t process = 0;
  std::int64_t thread = 0;
  std::string name;
  std::string process_name;
};

/// One call of the CUDA runtime or driver.
struct HostCall {
  Nanoseconds start;
  Nanoseconds end;
  std::uint64_t correlation = 0;
  NameId name;
  std::uint32_t thread = 0;  ///< into Recording::threads
  std::int32_t result = 0;
};

enum class WaitKind : std::uint8_t { kUnknown, kEvent, kStreamWaitsEvent, kStream, kContext };

/// A synchronization: a host thread, or for kStreamWaitsEvent a stream, that waits for device work.
struct DeviceWait {
  Nanoseconds start;
  Nanoseconds end;
  std::uint64_t correlation = 0;        ///< of the call that asked for it
  std::uint64_t event_correlation = 0;  ///< of the call that recorded the event; 0: unknown
  DeviceStream on;
  std::int64_t event = 0;          ///< its number; 0: none
  std::int64_t event_stream = -1;  ///< where the event was recorded; -1: unknown
  WaitKind kind = WaitKind::kUnknown;
};

/// kDrawn: of a category that nothing is known of; only who draws a recording asks a reader for it.
enum class RangeKind : std::uint8_t { kAnnotation, kOperator, kDrawn };

/// A stretch of a host thread that somebody named: an NVTX range, an annotation, an operator of a framework.
struct MarkedRange {
  Nanoseconds start;
  Nanoseconds end;
  NameId name;
  std::uint32_t thread = 0;
  RangeKind kind = RangeKind::kAnnotation;
  NameId category;  ///< of what is only drawn
};

/// Bytes that came or went. A framework's events tell its totals, the driver's do not.
struct AllocationEvent {
  Nanoseconds time;
  std::uint64_t address = 0;
  std::int64_t bytes = 0;      ///< negative: given back
  std::int64_t allocated = -1;  ///< by the framework, afterwards; -1: not told
  std::int64_t reserved = -1;
  std::uint32_t process = 0;
  std::uint32_t device = 0;
  std::uint8_t memory_kind = kDeviceMemoryKind;  ///< kPageableMemoryKind: of the host
  bool of_framework = false;  ///< false: asked of the driver
  std::int64_t stream = 0;    ///< on which the block is used; 0 where nobody told
};

/// Free memory of a device as its driver said at a moment.
struct MemoryReading {
  Nanoseconds time;
  std::uint32_t device = 0;
  Bytes free;
  Bytes total;
};

/// Which instruction of the running plan submitted work.
struct InstructionLink {
  std::uint64_t correlation = 0;
  std::uint32_t process = 0;
  std::uint32_t step = 0;
  std::uint32_t instruction = 0;
};

/// Something that happened and is not in the recording, in words and a count.
struct RecordingLoss {
  std::string what;
  std::uint64_t count = 0;
};

struct RecordedDevice {
  std::uint32_t device = 0;
  std::string name;
  Bytes memory;
  std::int32_t compute_major = 0;
  std::int32_t compute_minor = 0;
  std::int32_t multiprocessors = 0;
};

/// What a profiler saw of a program: ours or Kineto, Nsight Systems. Times count from `epoch`. Lists are in the order of
/// their start, then end.
struct Recording {
  std::string source;      ///< "Kineto trace", "Nsight Systems 2024.6.2 export", "plimsoll profile"
  std::int64_t epoch = 0;  ///< nanoseconds since 1970, or of whatever clock the file counts; 0: unknown
  NamePool names;
  std::vector<RecordedDevice> devices;
  std::vector<RecordedThread> threads;
  std::vector<DeviceWork> work;
  std::vector<LaunchShape> shapes;
  std::vector<HostCall> calls;
  std::vector<DeviceWait> waits;
  std::vector<MarkedRange> ranges;
  std::vector<AllocationEvent> allocations;
  std::vector<MemoryReading> readings;
  std::vector<InstructionLink> instructions;
  std::vector<RecordingLoss> losses;

  /// The index of that thread, made when it is new.
  std::uint32_t thread(std::uint32_t process, std::int64_t thread);
  /// Sorts all lists by time; equal times keep their order.
  void sort();
  /// Counts `count` more of `what`.
  void lose(std::string_view what, std::uint64_t count = 1);
};

/// One step of a training as its annotations tell: "ProfilerStep#7" and the like.
struct RecordedStep {
  std::string name;
  Nanoseconds start;
  Nanoseconds end;
};

/// The steps that are marked in a recording, in order; empty when none is.
std::vector<RecordedStep> marked_steps(const Recording& recording);

/// From the first start to the last end of device work and calls; both 0 of an empty recording.
std::pair<Nanoseconds, Nanoseconds> span_of(const Recording& recording);

std::string_view to_text(DeviceWorkKind kind);
/// "HtoD", "DtoH", …: of a copy's kind.
std::string_view copy_kind_text(std::uint8_t kind);

}  // namespace plimsoll
