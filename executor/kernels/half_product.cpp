// Products of matrices that are stored in two bytes, with fp32 sums; each element of the result is rounded once. Where the
// processor and the library multiply bf16 themselves they do; else tiles of both operands are widened to fp32 and multiplied.
#include <algorithm>

#include "executor/kernels/bf16_product.h"
#include "executor/kernels/storage.h"

namespace plimsoll {
namespace {

/// Inner elements that are widened at once: with tiles of 256 × 384 both operands and the sums take 1.6 MiB.
constexpr std::int64_t kDepth = 512;

/// The part of a view from `depth` on, widened: its rows as they lie, one behind the other.
template <typename S>
MatrixView<float> widen(const MatrixView<S>& view, std::int64_t lines, std::int64_t length, const S* from, float* scratch) {
  for (std::int64_t line = 0; line < lines; ++line) {
    conversions<S>().widen(length, from + line * view.stride, scratch + line * length);
  }
  return {scratch, length, view.transposed};
}

/// Columns [at, at + depth) of A as read.
template <typename S>
MatrixView<float> widen_left(const Product<S>& p, std::int64_t at, std::int64_t depth, float* scratch) {
  if (p.a.transposed) return widen(p.a, depth, p.rows, p.a.data + at * p.a.stride, scratch);
  return widen(p.a, p.rows, depth, p.a.data + at, scratch);
}

/// Rows [at, at + depth) of B as read.
template <typename S>
MatrixView<float> widen_right(const Product<S>& p, std::int64_t at, std::int64_t depth, float* scratch) {
  if (p.b.transposed) return widen(p.b, p.columns, depth, p.b.data + at, scratch);
  return widen(p.b, depth, p.columns, p.b.data + at * p.b.stride, scratch);
}

/// fp32 sums of the whole product, packed row behind row.
template <typename S>
void widen_and_multiply(const MatrixProduct& library, const Product<S>& p, float* sums, float* operands) {
  const std::int64_t depth = std::min(p.depth, kDepth);
  float *left = operands, *right = left + p.rows * depth;
  for (std::int64_t at = 0; at < p.depth; at += kDepth) {
    const std::int64_t part = std::min(kDepth, p.depth - at);
    library.multiply(Product<float>{.rows = p.rows,
                                    .columns = p.columns,
                                    .depth = part,
                                    .a = widen_left(p, at, part, left),
                                    .b = widen_right(p, at, part, right),
                                    .c = sums,
                                    .c_stride = p.columns,
                                    .adds = at > 0});
  }
}

void multiply_into(const MatrixProduct& library, const Product<Bf16>& p, float* sums, float* operands) {
  const bool by_processor = library.library() == MatmulLibrary::kOneDnn && multiplies_bf16();
  by_processor ? multiply_bf16(p, sums) : widen_and_multiply(library, p, sums, operands);
}

void multiply_into(const MatrixProduct& library, const Product<Fp16>& p, float* sums, float* operands) {
  widen_and_multiply(library, p, sums, operands);
}

}  // namespace

template <typename S>
void multiply_half(const MatrixProduct& library, const Product<S>& p, const S* bias) {
  const std::int64_t result = p.rows * p.columns;
  float* sums = thread_scratch(result + (p.rows + p.columns) * std::min(p.depth, kDepth) + 2 * p.columns);
  float *wide_bias = sums + result, *before = wide_bias + p.columns, *operands = before + p.columns;
  multiply_into(library, p, sums, operands);
  if (bias != nullptr) conversions<S>().widen(p.columns, bias, wide_bias);
  for (std::int64_t row = 0; row < p.rows; ++row) {
    float* sum = sums + row * p.columns;
    if (p.factor != 1) std::for_each(sum, sum + p.columns, [&](float& value) { value *= static_cast<float>(p.factor); });
    if (p.adds) {
      conversions<S>().widen(p.columns, p.c + row * p.c_stride, before);
      loops<float>().add_to(p.columns, before, sum);
    }
    if (bias != nullptr) loops<float>().add_to(p.columns, wide_bias, sum);
    conversions<S>().round(p.columns, sum, p.c + row * p.c_stride);
  }
}

template void multiply_half(const MatrixProduct&, const Product<Bf16>&, const Bf16*);
template void multiply_half(const MatrixProduct&, const Product<Fp16>&, const Fp16*);

}  // namespace plimsoll
