#include <array>

#include "executor/kernels/block_codes.h"
#include "executor/kernels/kernels.h"
#include "executor/kernels/storage.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll::kernels {
namespace {

constexpr std::int64_t kElements = 1 << 15;  // of one task; a multiple of every block

/// Elements [range.begin, range.end) of an encoded matrix of `elements`.
template <typename S>
void decode_range(BaseStorage storage, std::span<const std::byte> stored, std::int64_t elements, Range range, S* values) {
  if constexpr (kIsHalf<S>) {
    std::array<float, kPiece> wide;
    for (std::int64_t at = range.begin; at < range.end; at += kPiece) {
      const std::int64_t count = std::min(kPiece, range.end - at);
      decode(storage, stored, elements, at, std::span(wide).first(static_cast<std::size_t>(count)));
      conversions<S>().round(count, wide.data(), values + at);
    }
  } else {
    decode(storage, stored, elements, range.begin, std::span<S>(values + range.begin, static_cast<std::size_t>(range.size())));
  }
}

}  // namespace

template <typename S>
void dequantize(const OpShape& s, Operands operands, const LaunchContext& context) {
  const std::int64_t elements = s.rows * s.inputs;
  const std::span<const std::byte> stored(operands[0].data, static_cast<std::size_t>(operands[0].bytes.count));
  context.pool->run(range_count(elements, kElements), [&](std::int64_t task, std::int64_t) {
    decode_range(static_cast<BaseStorage>(s.variant), stored, elements, range_at(task, elements, kElements),
                 array<S>(operands, 1));
  });
}

PLIMSOLL_INSTANTIATE_HALF_KERNEL(dequantize);

}  // namespace plimsoll::kernels
