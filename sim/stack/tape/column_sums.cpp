#include "sim/stack/tape/column_sums.h"

#include <algorithm>
#include <bit>

namespace plimsoll {
namespace {

constexpr std::int64_t kThreads = 512;  // of a block, when each takes one column
constexpr std::int64_t kWarp = 32;
constexpr std::int64_t kFewestValues = 16;  // a thread
constexpr std::int64_t kManyValues = 256;   // a thread, from which on rows are shared out
constexpr std::int64_t kBytes = 4;          // of a sum

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t power_below(std::int64_t value, std::int64_t most) {
  const std::int64_t bounded = std::clamp<std::int64_t>(value, 1, most);
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(bounded)));
}

std::int64_t columns_a_thread(std::int64_t columns) { return columns % 4 == 0 ? 4 : columns % 2 == 0 ? 2 : 1; }

}  // namespace

SumBlocks sum_blocks_of(std::int64_t multiprocessors, std::string_view capability) {
  const bool turing = capability == "7.5";
  const bool board = capability.starts_with("12.") || (capability.starts_with("8.") && capability != "8.0");
  return {.multiprocessors = multiprocessors, .threads = turing ? 1024 : board ? 1536 : 2048};
}

Bytes column_sum_buffer(std::int64_t rows, std::int64_t columns, const SumBlocks& gpu) {
  if (gpu.multiprocessors == 0 || rows <= 0 || columns <= 0) return Bytes(0);
  const std::int64_t together = columns_a_thread(columns);
  const std::int64_t most = kThreads / together;
  const std::int64_t wide = power_below(columns / together, most);
  const std::int64_t height = std::min(power_below(rows, most), most / std::min(wide, kWarp));
  const std::int64_t width = std::min(wide, most / height);
  if (rows < height * kFewestValues && rows < kManyValues) return Bytes(0);  // a row of threads a column
  const std::int64_t values = divide_up(rows, height);
  const std::int64_t grid = divide_up(columns / together, width);
  const std::int64_t at_once = gpu.multiprocessors * (gpu.threads / (width * height));
  if (values < kManyValues || grid > at_once) return Bytes(0);
  const std::int64_t fullest = std::min(divide_up(at_once, grid), divide_up(values, kFewestValues));
  const std::int64_t blocks = std::max(fullest, divide_up(values, kManyValues));
  return blocks > 1 ? Bytes(kBytes * columns * blocks * width * together) : Bytes(0);
}

}  // namespace plimsoll
