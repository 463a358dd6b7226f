#include "executor/tiers/ring_io.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "core/base/error.h"
#include "core/plan/plan.h"
#include "executor/tiers/locked_memory.h"

namespace plimsoll {
namespace {

/// The kernel registers no larger pieces.
constexpr std::size_t kLargestPiece = std::size_t{1} << 30;
constexpr std::uint64_t kWakeUp = ~std::uint64_t{0};
constexpr std::uint64_t kNothing = kWakeUp - 1;

std::vector<iovec> pieces_of(std::span<const std::span<std::byte>> memory) {
  std::vector<iovec> pieces;
  for (const std::span<std::byte> range : memory) {
    for (std::size_t at = 0; at < range.size(); at += kLargestPiece) {
      pieces.push_back({range.data() + at, std::min(kLargestPiece, range.size() - at)});
    }
  }
  return pieces;
}

/// Whether an interrupted or overloaded kernel may take the entry a moment later.
bool is_passing(int problem) { return problem == EINTR || problem == EAGAIN || problem == EBUSY; }

}  // namespace

RingIo::RingIo(const DriveFile& file, const IoDepth& depth)
    : file_(file),
      queue_(depth.chunk, file.direct() ? kStorageAlignment : Bytes(1)),
      chunks_(std::max(1u, depth.chunks)) {
  // One entry more than chunks under way: the one that wakes the reaper in the end.
  const int problem = -::io_uring_queue_init(static_cast<unsigned>(chunks_.size()) + 1, &ring_, 0);
  if (problem != 0) {
    throw EnvironmentError({.kind = ErrorKind::kEnvironment,
                            .what = fmt::format("the kernel allows no io_uring: {}", std::strerror(problem)),
                            .where = {},
                            .remedy = {}});
  }
  for (std::size_t slot = chunks_.size(); slot-- > 0;) free_.push_back(slot);
  try {
    reaper_ = std::thread([this] { reap(); });
  } catch (...) {
    ::io_uring_queue_exit(&ring_);
    throw;
  }
}

RingIo::~RingIo() {
  {
    const std::scoped_lock lock(mutex_);
    io_uring_sqe* entry = ::io_uring_get_sqe(&ring_);
    ::io_uring_prep_nop(entry);
    ::io_uring_sqe_set_data64(entry, kWakeUp);
    while (is_passing(-::io_uring_submit(&ring_))) std::this_thread::yield();
  }
  reaper_.join();
  ::io_uring_queue_exit(&ring_);
}

std::optional<std::string> RingIo::register_memory(std::span<const std::span<std::byte>> memory) {
  std::vector<iovec> pieces = pieces_of(memory);
  if (pieces.empty()) return std::nullopt;
  std::size_t bytes = 0;
  for (const iovec& piece : pieces) bytes += piece.iov_len;
  const Bytes needed(static_cast<std::int64_t>(bytes));
  if (const auto limit = locked_memory_limit(); limit && needed > *limit) {
    return fmt::format("{} of buffers could not be registered: they would be locked in memory, and ulimit -l allows {}", to_text(needed),
                       to_text(*limit));
  }
  const int problem = -::io_uring_register_buffers(&ring_, pieces.data(), static_cast<unsigned>(pieces.size()));
  if (problem != 0) {
    return fmt::format("{} of buffers could not be registered ({}; ulimit -l may be too low)", to_text(needed), std::strerror(problem));
  }
  registered_ = std::move(pieces);
  return std::nullopt;
}

void RingIo::move(Transfer transfer, const LookAtBytes& look) {
  queue_.add(transfer);
  {
    const std::scoped_lock lock(mutex_);
    submit();
  }
  queue_.wait(transfer, look);
}

void RingIo::submit() {
  while (!free_.empty()) {
    const auto chunk = queue_.take();
    if (!chunk) return;
    const std::size_t slot = free_.back();
    free_.pop_back();
    chunks_[slot] = *chunk;
    io_uring_sqe* entry = ::io_uring_get_sqe(&ring_);  // there is one for every slot
    prepare(*entry, slot);
    push_to_kernel(*entry, slot);
  }
}

void RingIo::prepare(io_uring_sqe& entry, std::size_t slot) const {
  const Chunk& chunk = chunks_[slot];
  const auto bytes = static_cast<unsigned>(chunk.bytes);
  const auto at = static_cast<std::uint64_t>(chunk.offset);
  const auto holds = [&](const iovec& piece) {
    const auto* begin = static_cast<const std::byte*>(piece.iov_base);
    return chunk.data >= begin && chunk.data + chunk.bytes <= begin + piece.iov_len;
  };
  const auto piece = std::find_if(registered_.begin(), registered_.end(), holds);
  const auto index = static_cast<int>(piece - registered_.begin());
  const bool reads = chunk.transfer->direction == IoDirection::kRead;
  if (piece != registered_.end()) {
    (reads ? ::io_uring_prep_read_fixed(&entry, file_.descriptor(), chunk.data, bytes, at, index)
           : ::io_uring_prep_write_fixed(&entry, file_.descriptor(), chunk.data, bytes, at, index));
  } else {
    (reads ? ::io_uring_prep_read(&entry, file_.descriptor(), chunk.data, bytes, at)
           : ::io_uring_prep_write(&entry, file_.descriptor(), chunk.data, bytes, at));
  }
  ::io_uring_sqe_set_data64(&entry, slot);
}

void RingIo::push_to_kernel(io_uring_sqe& entry, std::size_t slot) {
  while (true) {
    const int answer = ::io_uring_submit(&ring_);
    if (answer >= 0) return;
    if (is_passing(-answer)) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      continue;
    }
    ::io_uring_prep_nop(&entry);  // the kernel did not take it: whatever takes it later finds nothing to do
    ::io_uring_sqe_set_data64(&entry, kNothing);
    queue_.end(chunks_[slot], answer);
    free_.push_back(slot);
    return;
  }
}

void RingIo::reap() {
  while (true) {
    io_uring_cqe* ended = nullptr;
    if (::io_uring_wait_cqe(&ring_, &ended) != 0) continue;  // interrupted by a signal
    const std::uint64_t slot = ::io_uring_cqe_get_data64(ended);
    const std::int64_t result = ended->res;
    ::io_uring_cqe_seen(&ring_, ended);
    if (slot == kWakeUp) return;
    if (slot == kNothing) continue;
    const std::scoped_lock lock(mutex_);
    const bool again = result == -EINTR || result == -EAGAIN;
    if (again) {
      io_uring_sqe* entry = ::io_uring_get_sqe(&ring_);
      prepare(*entry, slot);
      push_to_kernel(*entry, slot);
      continue;
    }
    queue_.end(chunks_[slot], result);
    free_.push_back(slot);
    submit();
  }
}

void RingIo::read(Bytes offset, std::span<std::byte> into, const LookAtBytes& look) {
  move(reading(offset, into, look != nullptr), look);
}

void RingIo::write(Bytes offset, std::span<const std::byte> from, const LookAtBytes& look) { move(writing(offset, from), look); }

std::string RingIo::name() const { return registered_.empty() ? "io_uring" : "io_uring with registered buffers"; }

}  // namespace plimsoll
