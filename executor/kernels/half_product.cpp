// Products of matrices that are stored in two bytes: tiles of both operands are widened to fp32, multiplied with fp32 sums,
// and each element of the result is rounded once.
#include <algorithm>

#include "executor/kernels/matrix_product.h"
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

}  // namespace

template <typename S>
void multiply_half(const MatrixProduct& library, const Product<S>& p, const S* bias) {
  const std::int64_t depth = std::min(p.depth, kDepth);
  float* sums = thread_scratch(p.rows * p.columns + (p.rows + p.columns) * depth + p.columns);
  float *left = sums + p.rows * p.columns, *right = left + p.rows * depth, *wide_bias = right + p.columns * depth;
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
  if (bias != nullptr) conversions<S>().widen(p.columns, bias, wide_bias);
  for (std::int64_t row = 0; row < p.rows; ++row) {
    float* sum = sums + row * p.columns;
    if (bias != nullptr) loops<float>().add_to(p.columns, wide_bias, sum);
    conversions<S>().round(p.columns, sum, p.c + row * p.c_stride);
  }
}

template void multiply_half(const MatrixProduct&, const Product<Bf16>&, const Bf16*);
template void multiply_half(const MatrixProduct&, const Product<Fp16>&, const Fp16*);

}  // namespace plimsoll
