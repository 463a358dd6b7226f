#include "core/graph/optimizer_state.h"
#include "executor/kernels/quantized_map.h"
#include "executor/kernels/update_operands.h"

namespace plimsoll::kernels {
namespace {

static_assert(kQuantizedBlock == kQuantizedElements);

/// Block `index` of moment `state`: codes of all elements come first, then the scales.
template <typename S>
QuantizedBlock block_of(const UpdateOperands<S>& u, std::size_t state, std::int64_t index, std::int64_t elements) {
  const QuantizedMap& map = quantized_map(state == 0);
  const std::int64_t codes = index * kQuantizedBlock, scales = quantized_codes(elements);
  std::byte *old = u.states[state], *next = u.new_states[state];
  return {.values = map.values.data(),
          .bounds = map.bounds.data(),
          .codes = reinterpret_cast<const std::uint8_t*>(old + codes),
          .scale = reinterpret_cast<const float*>(old + scales) + index,
          .new_codes = reinterpret_cast<std::uint8_t*>(next + codes),
          .new_scale = reinterpret_cast<float*>(next + scales) + index};
}

}  // namespace

/// AdamW whose moments rest in 8 bits (Dettmers et al. 2022, section 2): a block is widened, updated, used for the weights as
/// it is, and quantized by its largest number. Of the tensor's elements the first `shape.inputs`, which are all or none, decay.
template <typename S>
void adam8bit(const OpShape& s, Operands operands, const LaunchContext& context) {
  using T = Arithmetic<S>;
  const UpdateOperands<S> u = update_operands<S>(operands, 2, s.rows);
  static_assert(kUpdateElements % kQuantizedBlock == 0 && kPiece % kQuantizedBlock == 0);
  update_pieces<S>(s.rows, s.inputs, update_step<T>(context, u.factor), *context.pool,
                   [&](std::int64_t begin, std::int64_t size, const UpdateStep<T>& step) {
    for (std::int64_t at = begin; at < begin + size; at += kQuantizedBlock) {
      const std::int64_t n = std::min(kQuantizedBlock, begin + size - at), index = at / kQuantizedBlock;
      PieceScratch<S> scratch;
      loops<T>().adam8bit(n, step, u.gradient.read(at, n, scratch), u.weights + at, block_of(u, 0, index, s.rows),
                          block_of(u, 1, index, s.rows), u.new_weights + at);
      u.publish(at, n, u.new_weights + at);
    }
  });
}

PLIMSOLL_INSTANTIATE_HALF_KERNEL(adam8bit);

}  // namespace plimsoll::kernels
