#include "executor/data/record_order.h"

#include "executor/data/counter_random.h"

namespace plimsoll {
namespace {

constexpr std::uint64_t kShuffle = 0x73687566;  // "shuf"
constexpr std::uint64_t kTurns = 4;             // of a Feistel network; more change nothing that can be seen

/// Half the bits of a number below `count`, rounded up.
int half_bits(std::int64_t count) {
  int half = 0;
  while ((std::int64_t{1} << (2 * half)) < count) ++half;
  return half;
}

/// A bijection of the numbers below 4^half (Luby and Rackoff 1988).
std::uint64_t mixed(std::uint64_t key, std::uint64_t number, int half) {
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  std::uint64_t left = number >> half, right = number & mask;
  for (std::uint64_t turn = 0; turn < kTurns; ++turn) {
    const std::uint64_t next = left ^ (random_at(key, (turn << 32) | right) & mask);
    left = right;
    right = next;
  }
  return (left << half) | right;
}

}  // namespace

/// What falls outside is mixed again until it falls within: a bijection of the numbers below `count`, without a table.
std::int64_t record_at(std::uint64_t seed, std::int64_t index, std::int64_t count) {
  const std::uint64_t key = random_at(random_at(mix64(seed), kShuffle), static_cast<std::uint64_t>(index / count));
  const int half = half_bits(count);
  auto place = static_cast<std::uint64_t>(index % count);
  do {
    place = mixed(key, place, half);
  } while (place >= static_cast<std::uint64_t>(count));
  return static_cast<std::int64_t>(place);
}

}  // namespace plimsoll
