#include <catch2/catch.hpp>

#include <random>
#include <vector>

#include "sim/stack/replay_log.h"

namespace plimsoll {
namespace {

/// Steps of storages that are born and die at random, of the same sizes in each step: small, middle and large ones, on two streams.
std::shared_ptr<StorageLog> random_log(unsigned seed) {
  std::mt19937 random(seed);
  auto log = std::make_shared<StorageLog>();
  std::vector<std::shared_ptr<Storage>> kept;
  for (int step = 0; step < 3; ++step) {
    std::vector<std::shared_ptr<Storage>> live;
    for (int i = 0; i < 150; ++i) {
      if (live.empty() || random() % 5 < 3) {
        const std::int64_t most = random() % 4 == 0 ? 90'000'000 : random() % 2 == 0 ? 9'000'000 : 900'000;
        const auto stream = static_cast<std::uint8_t>(random() % 8 == 0);
        live.push_back(log->make(Bytes(static_cast<std::int64_t>(random() % most)), Holding::kActivations, stream));
      } else {
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(random() % live.size()));
      }
    }
    if (step == 0) kept.push_back(live.front());
  }
  return log;
}

/// The whole log, again and again.
Bytes least_by_halving(const StorageLog& log, const CachingAllocatorOptions& options, const Replay& unlimited) {
  Bytes too_little = unlimited.allocated - Bytes(1), enough = unlimited.reserved;
  while (enough - too_little > 2 * kMiB) {
    CachingAllocatorOptions tried = options;
    tried.limit = Bytes((too_little.count + enough.count) / 2);
    (replay_log(log, tried).ran_out_at ? too_little : enough) = tried.limit;
  }
  return enough;
}

}  // namespace

TEST_CASE("the least memory is what halving finds that runs the whole log each time") {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const auto log = random_log(seed);
    const CachingAllocatorOptions options{.expandable_segments = seed % 3 == 0};
    const Replay unlimited = replay_log(*log, options);
    const Bytes least = least_by_halving(*log, options, unlimited);
    INFO("seed " << seed);
    CHECK(least_memory(*log, options, unlimited) == least);
    // Where there is good room, any memory up to it says that it is enough; one byte less than the least never does.
    for (const Bytes good : {unlimited.reserved, least, least - Bytes(1), unlimited.allocated}) {
      const Bytes told = least_memory(*log, options, unlimited, good);
      CHECK((told <= good) == (least <= good));
      if (least > good) CHECK(told == least);
    }
  }
}

TEST_CASE("what a first step came to is what its events alone come to") {
  const auto log = random_log(5);
  const std::size_t first_step = log->events().size() / 3;
  StorageLog alone;
  for (std::size_t i = 0; i < first_step; ++i) {
    alone.at(log->events()[i].place);
    alone.note(log->events()[i]);
  }
  const Replay first = replay_steps(*log, {}, first_step).first;
  const Replay part = replay_log(alone, {});
  CHECK(first.requested == part.requested);
  CHECK(first.allocated == part.allocated);
  CHECK(first.reserved == part.reserved);
}

TEST_CASE("what another stream still works on is allocated no more, but its block is not free") {
  constexpr Bytes kBlock = Bytes(64 * 1024 * 1024);
  const auto log = std::make_shared<StorageLog>();
  const auto first = log->make(kBlock, Holding::kParameters);
  first->rename(Holding::kAwaited);
  const auto second = log->make(kBlock, Holding::kActivations);
  const Replay beside = replay_log(*log, {});
  CHECK(beside.requested == kBlock);
  CHECK(beside.allocated == kBlock);
  CHECK(beside.reserved == kBlock * 2);
  first->leave();
  const auto third = log->make(kBlock, Holding::kActivations);  // in the first one's place
  CHECK(replay_log(*log, {}).allocated == kBlock * 2);
  CHECK(replay_log(*log, {}).reserved == kBlock * 2);
}

TEST_CASE("what comes back while it is awaited is allocated again") {
  constexpr Bytes kBlock = Bytes(64 * 1024 * 1024);
  const auto log = std::make_shared<StorageLog>();
  const auto own = log->make(kBlock, Holding::kParameters);
  own->rename(Holding::kAwaited);
  own->rename(Holding::kParameters);
  const auto other = log->make(kBlock, Holding::kActivations);
  CHECK(replay_log(*log, {}).requested == kBlock * 2);
  CHECK(replay_log(*log, {}).allocated == kBlock * 2);
}

}  // namespace plimsoll
