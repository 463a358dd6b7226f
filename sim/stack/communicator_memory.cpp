#include "sim/stack/communicator_memory.h"

#include <algorithm>
#include <bit>

namespace plimsoll {
namespace {

constexpr std::int64_t kKib = 1024;
constexpr std::int64_t kMib = 1024 * kKib;
// Buffers of one connection (NCCL's src/include): of each protocol eight steps; 512 threads write 8 lines of 16 bytes in LL,
// 640 threads 120 elements of 8 bytes in LL128, and NCCL_BUFFSIZE is 4 MiB.
constexpr std::int64_t kSteps = 8;
constexpr std::int64_t kLowLatency = 512 * 8 * 16 * kSteps;
constexpr std::int64_t kLowLatency128 = 640 * 120 * 8 * kSteps;
constexpr std::int64_t kSimple = 4 * kMib;
constexpr std::int64_t kShared = 2 * kMib;     ///< memory that other processes map comes in so much at once
constexpr std::int64_t kPooledSteps = 16;      ///< NCCL_SHARED_STEPS of the network's pool
constexpr std::int64_t kMostChannels = 24;     ///< seen in NCCL's logs of A100 and H100 nodes
constexpr std::int64_t kFewestChannels = 2;
constexpr std::int64_t kChannelsAnAdapter = 2;

std::int64_t mapped(std::int64_t bytes) { return (bytes + kShared - 1) / kShared * kShared; }

/// Of an NVLink, both directions together, by generation.
double link_gbs(const GpuEntry& gpu) {
  if (gpu.architecture == "Pascal") return 40;
  if (gpu.architecture.starts_with("Blackwell")) return 100;
  return 50;
}

/// Boards of data centres hang on NVLink; a bridge between others is not taken for granted.
bool has_links(const GpuEntry& gpu) { return gpu.board == GpuBoard::kDatacenter && gpu.nvlink_gbs.value_or(0) > 0; }

}  // namespace

std::int64_t communicator_channels(const GpuEntry& gpu, std::int64_t adapters) {
  const std::int64_t most = adapters > 0 ? kChannelsAnAdapter * adapters : kMostChannels;
  if (!has_links(gpu)) return kFewestChannels;
  return std::min({most, kMostChannels, 2 * static_cast<std::int64_t>(*gpu.nvlink_gbs / link_gbs(gpu))});
}

Bytes communicator_memory(const GpuEntry& gpu, const CommunicatorShape& shape) {
  if (shape.ranks < 2) return {};
  const std::int64_t channels = communicator_channels(gpu, shape.adapters);
  // A little control data lies beside the buffers of each end. GeForce boards reach no peer: host memory holds theirs.
  const bool reaches_peers = gpu.board != GpuBoard::kGeForce && gpu.board != GpuBoard::kLaptop;
  const std::int64_t both_ends = reaches_peers ? mapped(1) + mapped(kLowLatency + kLowLatency128 + kSimple + 1) : 0;
  const std::int64_t chain = shape.ranks < 3 ? 0 : shape.ends_chain ? both_ends / 2 : both_ends;
  const std::int64_t piece = has_links(gpu) && shape.adapters == 0 ? 512 * kKib : 128 * kKib;
  const auto pooled = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(channels)));
  const std::int64_t pool = shape.makes_pool ? pooled * kPooledSteps * piece : 0;
  return Bytes(channels * (both_ends + chain) + pool);
}

}  // namespace plimsoll
