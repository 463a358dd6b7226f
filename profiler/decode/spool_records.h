#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>

namespace plimsoll {

// What a capture writes down, before anybody makes sense of it: plain numbers in the order of CUPTI's own units (nanoseconds of
// its clock, its ids). They are stored byte for byte, so that a member may be added only with a new version of the spool.

/// A kernel that ran.
struct KernelRecord {
  std::uint64_t start = 0, end = 0, graph_node = 0;
  std::int32_t grid[3] = {}, block[3] = {};
  std::uint32_t device = 0, context = 0, stream = 0, correlation = 0;
  std::uint32_t name = 0;  ///< of a NameRecord
  std::int32_t registers = 0, static_shared = 0, dynamic_shared = 0;
  std::uint32_t local = 0;  ///< bytes a thread
  std::uint32_t unused = 0;
};

/// A copy that ran.
struct CopyRecord {
  std::uint64_t start = 0, end = 0, bytes = 0, graph_node = 0;
  std::uint32_t device = 0, context = 0, stream = 0, correlation = 0;
  std::uint8_t kind = 0, source_kind = 0, target_kind = 0, unused[5] = {};
};

/// A fill (memset) that ran.
struct FillRecord {
  std::uint64_t start = 0, end = 0, bytes = 0, graph_node = 0;
  std::uint32_t device = 0, context = 0, stream = 0, correlation = 0;
  std::uint32_t value = 0;
  std::uint16_t memory_kind = 0, unused = 0;
};

/// Memory that the program asked the driver for, or gave back.
struct MemoryRecord {
  std::uint64_t time = 0, address = 0, bytes = 0;
  std::uint32_t device = 0, context = 0, stream = 0, correlation = 0;
  std::uint8_t released = 0;  ///< 0: asked for; 1: given back
  std::uint8_t memory_kind = 0, unused[6] = {};
};

/// A call of the CUDA runtime or driver.
struct CallRecord {
  std::uint64_t start = 0, end = 0;
  std::uint32_t process = 0, thread = 0, correlation = 0, name = 0;
  std::int32_t result = 0;
  std::uint32_t unused = 0;
};

/// Somebody waited for device work.
struct SyncRecord {
  std::uint64_t start = 0, end = 0, event_sync = 0;
  std::uint32_t correlation = 0, context = 0, stream = 0, event = 0;
  std::uint32_t kind = 0;  ///< 1 event, 2 stream waits for event, 3 stream, 4 context
  std::uint32_t unused = 0;
};

/// A CUDA event was recorded on a stream.
struct EventRecord {
  std::uint64_t event_sync = 0;
  std::uint32_t correlation = 0, context = 0, stream = 0, event = 0;
};

enum class MarkKind : std::uint8_t { kMoment, kBegin, kEnd };

/// An end of an NVTX range.
struct MarkRecord {
  std::uint64_t time = 0;
  std::uint32_t id = 0, thread = 0, name = 0;
  MarkKind kind = MarkKind::kMoment;
  std::uint8_t unused[3] = {};
};

/// Joins a call with what its program said it was doing: step << 32 | instruction.
struct ExternalRecord {
  std::uint64_t external = 0;
  std::uint32_t correlation = 0, unused = 0;
};

/// Records that CUPTI could not keep, or this program could not write.
struct LostRecord {
  std::uint64_t count = 0;
};

/// The same moment on the capture's clock, the computer's steady clock and its calendar.
struct ClockRecord {
  std::int64_t capture = 0, steady = 0, calendar = 0;
  std::int64_t uncertainty = 0;  ///< the capture's clock was read within this many nanoseconds of the others
};

/// Free memory of a device.
struct ReadingRecord {
  std::uint64_t time = 0, free = 0, total = 0;
  std::uint32_t device = 0, unused = 0;
};

/// A GPU of the captured program.
struct DeviceRecord {
  std::uint64_t memory = 0;
  std::uint32_t device = 0, name = 0, compute_major = 0, compute_minor = 0, multiprocessors = 0, unused = 0;
};

/// The capture was closed; a spool without it was cut off.
struct EndRecord {
  std::uint64_t records = 0;
};

/// Calls that the capture left out because they only ask: of how many functions of CUDA.
struct LeftOutRecord {
  std::uint64_t functions = 0;
};

/// A text that other records name by number.
struct NameRecord {
  std::uint32_t id = 0;
  std::string text;
};

using SpoolRecord =
    std::variant<KernelRecord, CopyRecord, FillRecord, MemoryRecord, CallRecord, SyncRecord, EventRecord, MarkRecord,
                 ExternalRecord, LostRecord, ClockRecord, ReadingRecord, DeviceRecord, EndRecord, NameRecord, LeftOutRecord>;

/// The number that stands before a record: its place in SpoolRecord.
template <typename Record, std::size_t At = 0>
constexpr std::uint16_t spool_tag() {
  if constexpr (std::is_same_v<Record, std::variant_alternative_t<At, SpoolRecord>>) {
    return static_cast<std::uint16_t>(At);
  } else {
    return spool_tag<Record, At + 1>();
  }
}

/// First bytes of a spool.
struct SpoolHeader {
  static constexpr std::uint64_t kMagic = 0x4c4f4f5053'4d4c50;  // "PLMSPOOL"
  static constexpr std::uint32_t kVersion = 1;

  std::uint64_t magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t process = 0;
  std::int64_t started = 0;         ///< calendar, nanoseconds since 1970
  std::uint32_t cupti_version = 0;  ///< 0: records that no CUPTI made
  std::uint32_t unused = 0;
  std::uint64_t checksum = 0;  ///< XXH3 of what stands before
};

/// Stands before the records of a block, which become valid together.
struct SpoolBlock {
  static constexpr std::uint32_t kMagic = 0x4b434c42;  // "BLCK"
  static constexpr std::uint32_t kMaxBytes = 1u << 24;

  std::uint32_t magic = kMagic;
  std::uint32_t bytes = 0;     ///< of the records
  std::uint64_t number = 0;    ///< counts up from 0
  std::uint64_t checksum = 0;  ///< XXH3 of the records, seeded with the number
};

static_assert(sizeof(KernelRecord) == 88 && sizeof(CopyRecord) == 56 && sizeof(FillRecord) == 56 && sizeof(MemoryRecord) == 48);
static_assert(sizeof(CallRecord) == 40 && sizeof(SyncRecord) == 48 && sizeof(EventRecord) == 24 && sizeof(MarkRecord) == 24);
static_assert(sizeof(ClockRecord) == 32 && sizeof(ReadingRecord) == 32 && sizeof(DeviceRecord) == 32);
static_assert(sizeof(SpoolHeader) == 40 && sizeof(SpoolBlock) == 24);

}  // namespace plimsoll
