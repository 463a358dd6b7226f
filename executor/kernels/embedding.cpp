#include <numeric>
#include <vector>

#include "executor/kernels/kernels.h"
#include "executor/kernels/storage.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll::kernels {
namespace {

constexpr std::int64_t kRows = 64;     // of the forward tasks
constexpr std::int64_t kColumns = 64;  // of the backward tasks: whole cache lines

/// Token id of row `row`: tokens are [sequences, sequence + 1], the last column is a target only.
std::int64_t token_at(const std::int32_t* tokens, const OpShape& shape, std::int64_t row) {
  return tokens[row / shape.sequence * (shape.sequence + 1) + row % shape.sequence];
}

}  // namespace

template <typename S>
void embedding(const OpShape& s, Operands operands, const LaunchContext& context) {
  using T = Arithmetic<S>;
  const auto* tokens = array<const std::int32_t>(operands, 0);
  const S* table = array<S>(operands, 1);
  const S* positions = s.positions > 0 ? array<S>(operands, 2) : nullptr;
  S* y = array<S>(operands, s.positions > 0 ? 3 : 2);
  const Loops<T>& loop = loops<T>();
  context.pool->run(range_count(s.rows, kRows), [&](std::int64_t task, std::int64_t) {
    const Range rows = range_at(task, s.rows, kRows);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const S* token = table + token_at(tokens, s, row) * s.inputs;
      for_pieces<S>(0, s.inputs, [&](std::int64_t at, std::int64_t n) {
        PieceScratch<S> sum, position;
        S* to = y + row * s.inputs + at;
        T* out = opened(n, to, sum.values);
        widen_into(n, token + at, out);
        if (s.constant != 0) loop.scale(n, static_cast<T>(s.constant), out);
        if (positions != nullptr) {
          loop.add_to(n, widened(n, positions + row % s.sequence * s.inputs + at, position.values), out);
        }
        store(n, out, to);
      });
    }
  });
}

namespace {

/// Some columns of the backward pass. The gradients of one token, or position, are added up in the order of their rows and
/// rounded once.
template <typename S>
struct EmbeddingBackward {
  using T = Arithmetic<S>;
  const OpShape& s;
  const S* dx;
  Range columns;

  void clear(S* table, std::int64_t rows) const {
    for (std::int64_t row = 0; row < rows; ++row) {
      std::fill(table + row * s.inputs + columns.begin, table + row * s.inputs + columns.end, S{});
    }
  }

  /// Adds the gradients of `rows` (indices, or with a stride) to row `to` of a table, `factor` times unless that is 0.
  template <typename RowAt>
  void add_rows(std::int64_t count, const RowAt& row_at, double factor, S* table, std::int64_t to) const {
    const Loops<T>& loop = loops<T>();
    PieceScratch<S> sum, gradient;
    S* stored = table + to * s.inputs + columns.begin;
    T* out = opened(columns.size(), stored, sum.values, true);
    for (std::int64_t i = 0; i < count; ++i) {
      const T* of_row = widened(columns.size(), dx + row_at(i) * s.inputs + columns.begin, gradient.values);
      if (factor == 0) {
        loop.add_to(columns.size(), of_row, out);
      } else {
        loop.scale_add_to(columns.size(), static_cast<T>(factor), of_row, out);
      }
    }
    store(columns.size(), out, stored);
  }
};

/// Rows that hold one token lie together, in their order.
std::vector<std::int32_t> rows_by_token(const std::int32_t* tokens, const OpShape& s) {
  std::vector<std::int32_t> rows(static_cast<std::size_t>(s.rows));
  std::iota(rows.begin(), rows.end(), 0);
  std::stable_sort(rows.begin(), rows.end(),
                   [&](std::int32_t a, std::int32_t b) { return token_at(tokens, s, a) < token_at(tokens, s, b); });
  return rows;
}

}  // namespace

/// A task owns some columns of both tables: a token that occurs twice needs no atomics.
template <typename S>
void embedding_backward(const OpShape& s, Operands operands, const LaunchContext& context) {
  const auto* tokens = array<const std::int32_t>(operands, 0);
  S* d_table = array<S>(operands, 2);
  S* d_positions = s.positions > 0 ? array<S>(operands, 3) : nullptr;
  const bool starts = operands[2].access == Access::kWrite;
  const std::vector<std::int32_t> rows = rows_by_token(tokens, s);
  context.pool->run(range_count(s.inputs, kColumns), [&](std::int64_t task, std::int64_t) {
    const EmbeddingBackward<S> part{s, array<S>(operands, 1), range_at(task, s.inputs, kColumns)};
    if (starts) part.clear(d_table, s.outputs);
    for (std::int64_t begin = 0, end = 0; begin < s.rows; begin = end) {
      const std::int64_t token = token_at(tokens, s, rows[static_cast<std::size_t>(begin)]);
      while (end < s.rows && token_at(tokens, s, rows[static_cast<std::size_t>(end)]) == token) ++end;
      part.add_rows(end - begin, [&](std::int64_t i) { return rows[static_cast<std::size_t>(begin + i)]; }, s.constant, d_table,
                    token);
    }
    if (d_positions == nullptr) return;
    part.clear(d_positions, s.positions);
    for (std::int64_t position = 0; position < s.sequence; ++position) {
      part.add_rows(s.rows / s.sequence, [&](std::int64_t i) { return i * s.sequence + position; }, 0, d_positions, position);
    }
  });
}

PLIMSOLL_INSTANTIATE_HALF_KERNEL(embedding);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(embedding_backward);

}  // namespace plimsoll::kernels
