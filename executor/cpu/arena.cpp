#include "executor/cpu/arena.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include "core/base/error.h"
#include "executor/cpu/over_pieces.h"

namespace plimsoll {
namespace {

// Upper and lower half are NaNs in fp32, the whole is one in fp64; the top byte 0x7f appears in no finite value below
// 1e38.
constexpr std::uint64_t kCanary = 0x7ff4dead7fa5deadu;
constexpr std::int64_t kWord = sizeof(kCanary);

std::byte canary_at(std::int64_t offset) {
  static constexpr auto kBytes = std::bit_cast<std::array<std::byte, sizeof(kCanary)>>(kCanary);
  return kBytes[static_cast<std::size_t>(offset % kWord)];
}

std::uint64_t word_at(const std::byte* data) {
  std::uint64_t word = 0;
  std::memcpy(&word, data, sizeof(word));
  return word;
}

/// In one thread; `data` begins at a whole word.
void put_canary_here(std::byte* data, std::int64_t begin, std::int64_t end) {
  std::int64_t at = begin;
  for (; at < end && at % kWord != 0; ++at) data[at] = canary_at(at);
  const std::int64_t words = (end - at) / kWord;
  std::fill_n(reinterpret_cast<std::uint64_t*>(data + at), std::max<std::int64_t>(0, words), kCanary);
  for (at += std::max<std::int64_t>(0, words) * kWord; at < end; ++at) data[at] = canary_at(at);
}

void put_canary(std::byte* data, std::int64_t begin, std::int64_t end) {
  over_pieces(static_cast<std::size_t>(std::max<std::int64_t>(0, end - begin)), [&](std::size_t from, std::size_t to) {
    put_canary_here(data, begin + static_cast<std::int64_t>(from), begin + static_cast<std::int64_t>(to));
  });
}

/// First byte of [begin, end) that is not the canary's, or `end`.
std::int64_t first_foreign(const std::byte* data, std::int64_t begin, std::int64_t end) {
  std::int64_t at = begin;
  while (at < end) {
    if (at % kWord == 0 && at + kWord <= end && word_at(data + at) == kCanary) {
      at += kWord;
    } else if (data[at] == canary_at(at)) {
      ++at;
    } else {
      return at;
    }
  }
  return end;
}

}  // namespace

HostArena::HostArena(Bytes bytes) { resize(bytes); }

HostArena::~HostArena() {
  if (data_ != nullptr) ::munmap(data_, static_cast<std::size_t>(size_.count));
}

void HostArena::resize(Bytes bytes) {
  const auto wanted = static_cast<std::size_t>(bytes.count);
  const auto held = static_cast<std::size_t>(size_.count);
  if (wanted == held) return;
  if (wanted == 0) {
    ::munmap(data_, held);
    data_ = nullptr;
    size_ = bytes;
    return;
  }
  void* mapped = data_ == nullptr
                     ? ::mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                     : ::mremap(data_, held, wanted, MREMAP_MAYMOVE);
  if (mapped == MAP_FAILED) {
    throw EnvironmentError({.kind = ErrorKind::kEnvironment,
                            .what = fmt::format("cannot reserve an arena of {} ({} bytes): {}", to_text(bytes),
                                                bytes.count, std::strerror(errno)),
                            .where = {},
                            .remedy = "plan for less memory"});
  }
  data_ = static_cast<std::byte*>(mapped);
  size_ = bytes;
  // Pages of 2 MiB, where the system has them: kernels that walk along columns then miss the address cache less often.
  // A system without them refuses, which costs nothing but that.
  (void)::madvise(mapped, wanted, MADV_HUGEPAGE);
  if (wanted > held) zero_in_pieces({data_ + held, wanted - held});
}

void HostArena::fill_zeros() {
  zero_in_pieces({data_, static_cast<std::size_t>(size_.count)});
}

void HostArena::fill_canary() { fill_canary_outside({}); }

void HostArena::fill_canary_outside(std::span<const ByteRange> kept) {
  std::int64_t at = 0;
  for (const auto& [begin, end] : kept) {
    put_canary(data_, at, begin.count);
    at = std::max(at, end.count);
  }
  put_canary(data_, at, size_.count);
}

Bytes HostArena::touched() const {
  std::int64_t end = size_.count;
  while (end > 0) {
    if (end % kWord == 0 && word_at(data_ + end - kWord) == kCanary) {
      end -= kWord;
    } else if (data_[end - 1] == canary_at(end - 1)) {
      --end;
    } else {
      break;
    }
  }
  return Bytes(end);
}

std::optional<Bytes> HostArena::first_touched_outside(std::span<const ByteRange> allowed) const {
  std::int64_t at = 0;
  for (const auto& [begin, end] : allowed) {
    if (begin.count > at) {
      const std::int64_t found = first_foreign(data_, at, begin.count);
      if (found < begin.count) return Bytes(found);
    }
    at = std::max(at, end.count);
  }
  const std::int64_t found = first_foreign(data_, std::min(at, size_.count), size_.count);
  return found < size_.count ? std::optional(Bytes(found)) : std::nullopt;
}

}  // namespace plimsoll
