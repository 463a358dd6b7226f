#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/quantity.h"
#include "core/base/strong_id.h"
#include "core/model/dtype.h"

namespace plimsoll {

using SpaceId = StrongId<struct SpaceTag>;
using ProcessorId = StrongId<struct ProcessorTag>;
using ResourceId = StrongId<struct ResourceTag>;
using LinkId = StrongId<struct LinkTag>;
using QueueId = StrongId<struct QueueTag>;

enum class SpaceKind : std::uint8_t { kDevice, kHost, kSsd };

/// Memory that buffers can lie in.
struct MemorySpace {
  std::string name;  ///< "gpu0", "host", "ssd"
  SpaceKind kind = SpaceKind::kDevice;
  Bytes capacity;  ///< what the hardware or the user's cap says
  Bytes usable;    ///< what a plan may reserve: capacity less context, driver, operating system and guard
};

enum class ProcessorKind : std::uint8_t { kGpu, kCpu };

/// What runs kernels. Rates are the nominal peaks; the cost model knows which fraction is reached. 0 means unknown.
struct Processor {
  std::string name;
  ProcessorKind kind = ProcessorKind::kGpu;
  SpaceId space;                 ///< memory that its kernels read and write
  std::int64_t cores = 1;        ///< streaming multiprocessors, or CPU cores
  double bytes_per_second = 0;   ///< bandwidth of its memory
  double fp32_flops = 0;         ///< per second, vector units
  double fp16_flops = 0;         ///< matrix units with fp32 accumulation
  double bf16_flops = 0;         ///< 0: no such units
  double tf32_flops = 0;         ///< matrix units with fp32 operands of which they read 19 bits; 0: no such units
  std::string calibration_name;  ///< the catalogue's or probe's key for measured efficiencies
};

/// Something that running instructions share: one direction of a link, an uplink, host DRAM, CPU cores.
struct Resource {
  std::string name;
  double capacity = 0;  ///< units a second: bytes for links and DRAM, core-seconds for cores
};

/// Use of a resource: `amount` units for each byte that crosses a link, or held while a kernel runs at full speed.
struct Demand {
  ResourceId resource;
  double amount = 1.0;
};

/// A directed way between two spaces. Its path lists every resource of the link tree that its bytes cross.
struct Link {
  std::string name;
  SpaceId from;
  SpaceId to;
  double bytes_per_second = 0;  ///< of one transfer alone
  Nanoseconds latency;          ///< before the first byte
  std::vector<Demand> path;     ///< per byte
};

enum class QueueKind : std::uint8_t { kCompute, kCopy, kStorage, kHostCompute, kHostWork, kCommunication };

/// Runs its instructions in order, at most `width` at once (a stream, a copy engine, a worker pool, an I/O ring).
struct Queue {
  std::string name;  ///< "gpu0.compute", "h2d", "d2h", "cpu", "ssd.read", "data"
  QueueKind kind = QueueKind::kCompute;
  ProcessorId processor;
  std::int64_t width = 1;
  std::int64_t rank = 0;
  std::vector<Demand> demands;  ///< held by each running instruction of this queue, besides a link's path
  double weight = 1.0;          ///< speed that its work gets, relative to others', where a resource is short
};

/// Hardware as a plan sees it.
struct Platform {
  std::string name;
  std::vector<MemorySpace> spaces;
  std::vector<Processor> processors;
  std::vector<Resource> resources;
  std::vector<Link> links;
  std::vector<Queue> queues;

  [[nodiscard]] const MemorySpace& at(SpaceId id) const { return spaces[id.index]; }
  [[nodiscard]] const Processor& at(ProcessorId id) const { return processors[id.index]; }
  [[nodiscard]] const Resource& at(ResourceId id) const { return resources[id.index]; }
  [[nodiscard]] const Link& at(LinkId id) const { return links[id.index]; }
  [[nodiscard]] const Queue& at(QueueId id) const { return queues[id.index]; }

  /// First space of that kind, if the platform has one.
  [[nodiscard]] std::optional<SpaceId> space(SpaceKind kind) const;
  /// The queue of that name, if the platform has one.
  [[nodiscard]] std::optional<QueueId> queue(std::string_view name) const;
  /// The link from one space to another, if there is one.
  [[nodiscard]] std::optional<LinkId> link(SpaceId from, SpaceId to) const;
  /// The way to other ranks' memory, named `kRanksLink`, if there is one.
  [[nodiscard]] std::optional<LinkId> link_to_ranks() const;
};

/// Name of the link over which exchanges go.
inline constexpr std::string_view kRanksLink = "ranks";

std::string_view to_text(SpaceKind kind);
std::string_view to_text(ProcessorKind kind);
std::string_view to_text(QueueKind kind);
std::optional<SpaceKind> parse_space_kind(std::string_view text);
std::optional<ProcessorKind> parse_processor_kind(std::string_view text);
std::optional<QueueKind> parse_queue_kind(std::string_view text);

}  // namespace plimsoll
