#include "executor/kernels/kernels.h"
#include "executor/kernels/loops.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll::kernels {
namespace {

constexpr std::int64_t kRows = 64;     // of the forward tasks
constexpr std::int64_t kColumns = 64;  // of the backward tasks: whole cache lines

/// Token id of row `row`: tokens are [sequences, sequence + 1], the last column is a target only.
std::int64_t token_at(const std::int32_t* tokens, const OpShape& shape, std::int64_t row) {
  return tokens[row / shape.sequence * (shape.sequence + 1) + row % shape.sequence];
}

template <typename T>
void clear_columns(T* table, std::int64_t rows, std::int64_t width, Range columns) {
  for (std::int64_t row = 0; row < rows; ++row) {
    std::fill(table + row * width + columns.begin, table + row * width + columns.end, T(0));
  }
}

}  // namespace

template <typename T>
void embedding(const OpShape& s, Operands operands, const LaunchContext& context) {
  const auto* tokens = array<const std::int32_t>(operands, 0);
  const T* table = array<T>(operands, 1);
  const T* positions = s.positions > 0 ? array<T>(operands, 2) : nullptr;
  T* y = array<T>(operands, s.positions > 0 ? 3 : 2);
  const Loops<T>& loop = loops<T>();
  context.pool->run(range_count(s.rows, kRows), [&](std::int64_t task, std::int64_t) {
    const Range rows = range_at(task, s.rows, kRows);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const T* token = table + token_at(tokens, s, row) * s.inputs;
      T* out = y + row * s.inputs;
      std::copy(token, token + s.inputs, out);
      if (s.constant != 0) loop.scale(s.inputs, static_cast<T>(s.constant), out);
      if (positions != nullptr) loop.add_to(s.inputs, positions + row % s.sequence * s.inputs, out);
    }
  });
}

/// A task owns some columns of both tables and adds all rows to them in order: a token that occurs twice needs no
/// atomics.
template <typename T>
void embedding_backward(const OpShape& s, Operands operands, const LaunchContext& context) {
  const auto* tokens = array<const std::int32_t>(operands, 0);
  const T* dx = array<T>(operands, 1);
  T* d_table = array<T>(operands, 2);
  T* d_positions = s.positions > 0 ? array<T>(operands, 3) : nullptr;
  const bool starts = operands[2].access == Access::kWrite;
  const Loops<T>& loop = loops<T>();
  context.pool->run(range_count(s.inputs, kColumns), [&](std::int64_t task, std::int64_t) {
    const Range columns = range_at(task, s.inputs, kColumns);
    if (starts) clear_columns(d_table, s.outputs, s.inputs, columns);
    if (d_positions != nullptr) clear_columns(d_positions, s.positions, s.inputs, columns);
    for (std::int64_t row = 0; row < s.rows; ++row) {
      const T* gradient = dx + row * s.inputs + columns.begin;
      T* of_token = d_table + token_at(tokens, s, row) * s.inputs + columns.begin;
      if (s.constant == 0) {
        loop.add_to(columns.size(), gradient, of_token);
      } else {
        loop.scale_add_to(columns.size(), static_cast<T>(s.constant), gradient, of_token);
      }
      if (d_positions == nullptr) continue;
      loop.add_to(columns.size(), gradient, d_positions + row % s.sequence * s.inputs + columns.begin);
    }
  });
}

PLIMSOLL_INSTANTIATE_KERNEL(embedding);
PLIMSOLL_INSTANTIATE_KERNEL(embedding_backward);

}  // namespace plimsoll::kernels
