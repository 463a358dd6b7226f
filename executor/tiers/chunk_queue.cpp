#include "executor/tiers/chunk_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/base/error.h"

namespace plimsoll {
namespace {

std::string words_of(const Chunk& chunk, std::int64_t result) {
  const bool reads = chunk.transfer->direction == IoDirection::kRead;
  const std::string where = fmt::format("{} {} bytes at {} of the SSD data", reads ? "reading" : "writing",
                                        chunk.bytes, chunk.offset);
  if (result < 0) return fmt::format("{} failed: {}", where, std::strerror(static_cast<int>(-result)));
  return fmt::format("{} moved only {}: {}", where, result, reads ? "the file ends there" : "the drive took no more");
}

}  // namespace

Transfer reading(Bytes offset, std::span<std::byte> into, bool looked_at) {
  Transfer transfer;
  transfer.looked_at = looked_at;
  transfer.offset = offset.count;
  transfer.data = into.data();
  transfer.bytes = static_cast<std::int64_t>(into.size());
  return transfer;
}

Transfer writing(Bytes offset, std::span<const std::byte> from) {
  Transfer transfer = reading(offset, {const_cast<std::byte*>(from.data()), from.size()});  // which the kernel only reads
  transfer.direction = IoDirection::kWrite;
  return transfer;
}

void ChunkQueue::add(Transfer& transfer) {
  if (transfer.bytes == 0) return;
  const std::scoped_lock lock(mutex_);
  open_.push_back(&transfer);
  added_.notify_all();
}

/// Chunks are looked at while others are on their way, until none is.
void ChunkQueue::show_arrivals(Transfer& transfer, const LookAtBytes& look) {
  if (transfer.direction == IoDirection::kWrite) {
    return look(Bytes(transfer.offset), {transfer.data, static_cast<std::size_t>(transfer.bytes)});
  }
  const auto at_rest = [&] { return transfer.handed_out == transfer.bytes && transfer.under_way == 0; };
  while (true) {
    std::vector<Chunk> chunks;
    {
      std::unique_lock lock(mutex_);
      ended_.wait(lock, [&] { return !transfer.arrived.empty() || at_rest(); });
      chunks.swap(transfer.arrived);
    }
    if (chunks.empty()) return;
    for (const Chunk& chunk : chunks) {
      look(Bytes(chunk.offset - chunk.before), {chunk.data - chunk.before, static_cast<std::size_t>(chunk.before + chunk.bytes)});
    }
  }
}

void ChunkQueue::wait(Transfer& transfer, const LookAtBytes& look) {
  if (look) show_arrivals(transfer, look);
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] { return transfer.handed_out == transfer.bytes && transfer.under_way == 0; });
  if (transfer.failure.empty()) return;
  throw EnvironmentError({.kind = ErrorKind::kEnvironment,
                          .what = transfer.failure,
                          .where = {},
                          .remedy = "check the drive, or name another folder with --ssd-folder"});
}

std::optional<Chunk> ChunkQueue::take() {
  const std::scoped_lock lock(mutex_);
  return take_locked();
}

std::optional<Chunk> ChunkQueue::take_locked() {
  if (!rests_.empty()) {
    const Chunk rest = rests_.front();
    rests_.pop_front();
    return rest;
  }
  if (open_.empty()) return std::nullopt;
  Transfer& next = *open_.front();
  open_.pop_front();
  const std::int64_t offset = next.offset + next.handed_out;
  const std::int64_t bytes = std::min(chunk_ - offset % chunk_, next.bytes - next.handed_out);
  const Chunk chunk{&next, offset, next.data + next.handed_out, bytes};
  next.handed_out += bytes;
  ++next.under_way;
  if (next.handed_out < next.bytes) open_.push_back(&next);
  return chunk;
}

std::optional<Chunk> ChunkQueue::wait_for_chunk() {
  std::unique_lock lock(mutex_);
  added_.wait(lock, [&] { return closed_ || !open_.empty() || !rests_.empty(); });
  return closed_ ? std::nullopt : take_locked();
}

void ChunkQueue::end(const Chunk& chunk, std::int64_t result) {
  const std::scoped_lock lock(mutex_);
  Transfer& transfer = *chunk.transfer;
  const std::int64_t moved = result == chunk.bytes ? result : std::max<std::int64_t>(0, result) / block_ * block_;
  if (moved > 0 && moved < chunk.bytes && transfer.failure.empty()) {
    rests_.push_back({&transfer, chunk.offset + moved, chunk.data + moved, chunk.bytes - moved, chunk.before + moved});
    added_.notify_one();
    return;
  }
  if (moved < chunk.bytes && transfer.failure.empty()) {
    transfer.failure = words_of(chunk, result);
    std::erase(open_, &transfer);  // what was not handed out never will be
    transfer.handed_out = transfer.bytes;
  }
  --transfer.under_way;
  const bool looked_at = transfer.looked_at && moved == chunk.bytes;
  if (looked_at) transfer.arrived.push_back(chunk);
  if (looked_at || (transfer.under_way == 0 && transfer.handed_out == transfer.bytes)) ended_.notify_all();
}

void ChunkQueue::close() {
  const std::scoped_lock lock(mutex_);
  closed_ = true;
  added_.notify_all();
}

}  // namespace plimsoll
