#include "executor/tiers/thread_io.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/plan/plan.h"

namespace plimsoll {
namespace {

/// A thread for each chunk under way would cost more than it brings.
constexpr unsigned kMostThreads = 8;

std::int64_t move_chunk(int descriptor, const Chunk& chunk) {
  const auto bytes = static_cast<std::size_t>(chunk.bytes);
  while (true) {
    const ssize_t moved = chunk.transfer->direction == IoDirection::kRead
                              ? ::pread(descriptor, chunk.data, bytes, chunk.offset)
                              : ::pwrite(descriptor, chunk.data, bytes, chunk.offset);
    if (moved >= 0) return moved;
    if (errno != EINTR) return -errno;
  }
}

}  // namespace

ThreadIo::ThreadIo(const DriveFile& file, const IoDepth& depth)
    : file_(file), queue_(depth.chunk, file.direct() ? kStorageAlignment : Bytes(1)) {
  const unsigned count = std::clamp(depth.chunks, 1u, kMostThreads);
  for (unsigned i = 0; i < count; ++i) threads_.emplace_back([this] { work(); });
}

ThreadIo::~ThreadIo() { queue_.close(); }

void ThreadIo::work() {
  while (const auto chunk = queue_.wait_for_chunk()) queue_.end(*chunk, move_chunk(file_.descriptor(), *chunk));
}

void ThreadIo::move(Transfer transfer, const LookAtBytes& look) {
  queue_.add(transfer);
  queue_.wait(transfer, look);
}

void ThreadIo::read(Bytes offset, std::span<std::byte> into, const LookAtBytes& look) {
  move(reading(offset, into, look != nullptr), look);
}

void ThreadIo::write(Bytes offset, std::span<const std::byte> from, const LookAtBytes& look) { move(writing(offset, from), look); }

std::string ThreadIo::name() const { return fmt::format("pread and pwrite on {} threads", threads_.size()); }

}  // namespace plimsoll
