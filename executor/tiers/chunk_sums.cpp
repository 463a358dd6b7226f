#include "executor/tiers/chunk_sums.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "core/base/running_digest.h"

namespace plimsoll {
namespace {

std::span<const std::byte> part(std::span<const std::byte> bytes, std::int64_t begin, std::int64_t count) {
  return bytes.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count));
}

}  // namespace

void ChunkSums::forget(std::int64_t begin, std::int64_t end) {
  auto at = sums_.lower_bound(begin);
  if (at != sums_.begin()) {
    const auto before = std::prev(at);
    if (before->first + before->second.bytes > begin) at = before;
  }
  while (at != sums_.end() && at->first < end) at = sums_.erase(at);
}

void ChunkSums::wrote(Bytes offset, std::span<const std::byte> bytes) {
  const std::int64_t end = offset.count + static_cast<std::int64_t>(bytes.size());
  std::vector<std::pair<std::int64_t, Sum>> found;
  for (std::int64_t at = offset.count; at < end;) {
    const std::int64_t count = std::min(end, (at / kChunk + 1) * kChunk) - at;
    found.emplace_back(at, Sum{count, fingerprint_of(part(bytes, at - offset.count, count))});
    at += count;
  }
  const std::scoped_lock lock(mutex_);
  forget(offset.count, end);
  sums_.insert(found.begin(), found.end());
}

void ChunkSums::wrote_unseen(Bytes offset, Bytes bytes) {
  const std::scoped_lock lock(mutex_);
  forget(offset.count, offset.count + bytes.count);
}

std::optional<ChunkSums::Chunk> ChunkSums::find_changed(Bytes offset, std::span<const std::byte> bytes) const {
  const std::int64_t end = offset.count + static_cast<std::int64_t>(bytes.size());
  std::vector<std::pair<std::int64_t, Sum>> known;
  {
    const std::scoped_lock lock(mutex_);
    for (auto at = sums_.lower_bound(offset.count); at != sums_.end() && at->first + at->second.bytes <= end; ++at) known.push_back(*at);
  }
  for (const auto& [at, sum] : known) {
    if (fingerprint_of(part(bytes, at - offset.count, sum.bytes)) != sum.fingerprint) return Chunk{Bytes(at), Bytes(at + sum.bytes)};
  }
  return std::nullopt;
}

void ChunkSums::cut(Bytes end) {
  const std::scoped_lock lock(mutex_);
  if (!sums_.empty()) forget(end.count, sums_.rbegin()->first + 1);
}

}  // namespace plimsoll
