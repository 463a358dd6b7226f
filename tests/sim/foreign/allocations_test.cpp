#include <catch2/catch.hpp>

#include "sim/memory/replay_allocations.h"

namespace plimsoll::test {
namespace {

constexpr std::int64_t kMebibyte = 1 << 20;

struct Event {
  std::uint64_t address;
  std::int64_t bytes;
  std::int64_t allocated;
  std::int64_t reserved;
};

Recording recording_of(const std::vector<Event>& events) {
  Recording recording;
  for (std::size_t i = 0; i < events.size(); ++i) {
    recording.allocations.push_back({.time = Nanoseconds(static_cast<std::int64_t>(i)), .address = events[i].address,
                                     .bytes = events[i].bytes, .allocated = events[i].allocated, .reserved = events[i].reserved,
                                     .of_framework = true});
  }
  return recording;
}

}  // namespace

TEST_CASE("a whole history of allocations reserves what PyTorch's rules reserve, event by event") {
  // 1000 bytes: a block of 1024 in a small segment of 2 MiB. 3 MiB: from a segment of 20 MiB. When they are free, 4 MiB fit there.
  // 30 MiB: a segment of its own.
  const auto replayed = replay_allocations(recording_of({{100, 1000, 1024, 2 * kMebibyte},
                                                         {200, 3 * kMebibyte, 3 * kMebibyte + 1024, 22 * kMebibyte},
                                                         {200, -3 * kMebibyte, 1024, 22 * kMebibyte},
                                                         {200, 4 * kMebibyte, 4 * kMebibyte + 1024, 22 * kMebibyte},
                                                         {900, 30 * kMebibyte, 34 * kMebibyte + 1024, 52 * kMebibyte}}));
  REQUIRE(replayed);
  const ReplayedAllocations& device = replayed->front();
  CHECK(device.points.size() == 5);
  CHECK(device.points[1].reserved == Bytes(22 * kMebibyte));
  CHECK(device.peak_reserved == Bytes(52 * kMebibyte));
  CHECK(device.worst_error == 0);
  CHECK(device.grown == 2);  // of the recording, after its first event
  CHECK(device.unmatched == 0);
}

TEST_CASE("what lay in the cache before is rebuilt from the addresses that events name") {
  // 100 MiB are reserved. A block of 16 MiB at 1 GiB is given back, and 6 and 10 MiB are taken from where it was: nothing grows. The
  // other 84 MiB no event touches. Then 12 MiB find no room in what is known, and the recording grows by 12.
  const std::uint64_t at = std::uint64_t{1} << 30;
  const auto m = kMebibyte;
  const auto replayed = replay_allocations(recording_of({{at, -16 * m, 40 * m, 100 * m},
                                                         {at, 6 * m, 46 * m, 100 * m},
                                                         {at + 6 * static_cast<std::uint64_t>(m), 10 * m, 56 * m, 100 * m},
                                                         {at * 2, 12 * m, 68 * m, 112 * m}}));
  REQUIRE(replayed);
  const ReplayedAllocations& device = replayed->front();
  CHECK(device.held_at_start == Bytes(100 * m));
  CHECK(device.unseen_at_start == Bytes(84 * m));
  CHECK(device.grown == 1);
  CHECK(device.grown_here == 1);
  CHECK(device.worst_error == 0);
  CHECK(device.points.front().allocated == Bytes(40 * m));
}

TEST_CASE("a recording without a framework's allocations is refused with the remedy") {
  const auto replayed = replay_allocations(Recording{});
  REQUIRE_FALSE(replayed);
  CHECK(replayed.error().remedy.find("profile_memory") != std::string::npos);
}

}  // namespace plimsoll::test
