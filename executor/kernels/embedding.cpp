#include <array>
#include <numeric>
#include <vector>

#include "core/graph/masked_token.h"
#include "executor/kernels/index_check.h"
#include "executor/kernels/kernels.h"
#include "executor/kernels/storage.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll::kernels {
namespace {

constexpr std::int64_t kRows = 64;     // of the forward tasks
constexpr std::int64_t kColumns = 64;  // of the backward tasks: whole cache lines

/// Token id of row `row`: tokens are [sequences, sequence + 1], the last column is a target only.
std::int64_t token_at(const std::int32_t* tokens, const OpShape& shape, std::int64_t row) {
  return token_id(tokens[row / shape.sequence * (shape.sequence + 1) + row % shape.sequence]);
}

/// Which row of the token type table belongs to a token: the second one behind the first segment.
struct TokenTypes {
  const std::int32_t* extents;  ///< [sequence][tokens, begin of the second segment]; null: there is no table

  [[nodiscard]] std::int64_t of(const OpShape& shape, std::int64_t row) const {
    const std::int32_t* extent = extents + 2 * (row / shape.sequence);
    const std::int64_t place = row % shape.sequence;
    return shape.variant > 1 && place >= extent[1] && place < extent[0] ? 1 : 0;
  }
};

}  // namespace

template <typename S>
void embedding(const OpShape& s, Operands operands, const LaunchContext& context) {
  using T = Arithmetic<S>;
  const auto* tokens = array<const std::int32_t>(operands, 0);
  check_tokens(s, tokens);
  const S* table = array<S>(operands, 1);
  const S* positions = s.positions > 0 ? array<S>(operands, 2) : nullptr;
  const std::size_t after = s.positions > 0 ? 3 : 2;
  const TokenTypes types{s.variant > 0 ? array<const std::int32_t>(operands, after) : nullptr};
  const S* type_table = s.variant > 0 ? array<S>(operands, after + 1) : nullptr;
  S* y = array<S>(operands, s.variant > 0 ? after + 2 : after);
  const Loops<T>& loop = loops<T>();
  context.pool->run(range_count(s.rows, kRows), [&](std::int64_t task, std::int64_t) {
    const Range rows = range_at(task, s.rows, kRows);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const S* token = table + token_at(tokens, s, row) * s.inputs;
      for_pieces<S>(0, s.inputs, [&](std::int64_t at, std::int64_t n) {
        PieceScratch<S> sum, added;
        S* to = y + row * s.inputs + at;
        T* out = opened(n, to, sum.values);
        widen_into(n, token + at, out);
        if (s.constant != 0) loop.scale(n, static_cast<T>(s.constant), out);
        if (positions != nullptr) {
          loop.add_to(n, widened(n, positions + (s.stride + row % s.sequence) * s.inputs + at, added.values), out);
        }
        if (type_table != nullptr) {
          loop.add_to(n, widened(n, type_table + types.of(s, row) * s.inputs + at, added.values), out);
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

std::array<std::vector<std::int32_t>, 2> rows_by_type(const TokenTypes& types, const OpShape& s) {
  std::array<std::vector<std::int32_t>, 2> rows;
  for (std::int64_t row = 0; s.variant > 0 && row < s.rows; ++row) {
    rows[static_cast<std::size_t>(types.of(s, row))].push_back(static_cast<std::int32_t>(row));
  }
  return rows;
}

}  // namespace

/// A task owns some columns of all tables: a token that occurs twice needs no atomics.
template <typename S>
void embedding_backward(const OpShape& s, Operands operands, const LaunchContext& context) {
  const auto* tokens = array<const std::int32_t>(operands, 0);
  check_tokens(s, tokens);
  const TokenTypes types{s.variant > 0 ? array<const std::int32_t>(operands, 2) : nullptr};
  const std::size_t table = s.variant > 0 ? 3 : 2;
  S* d_table = array<S>(operands, table);
  S* d_positions = s.positions > 0 ? array<S>(operands, table + 1) : nullptr;
  S* d_types = s.variant > 0 ? array<S>(operands, s.positions > 0 ? table + 2 : table + 1) : nullptr;
  const bool starts = operands[table].access == Access::kWrite;
  const std::vector<std::int32_t> rows = rows_by_token(tokens, s);
  const std::array<std::vector<std::int32_t>, 2> typed = rows_by_type(types, s);
  context.pool->run(range_count(s.inputs, kColumns), [&](std::int64_t task, std::int64_t) {
    const EmbeddingBackward<S> part{s, array<S>(operands, 1), range_at(task, s.inputs, kColumns)};
    if (starts) part.clear(d_table, s.outputs);
    for (std::int64_t begin = 0, end = 0; begin < s.rows; begin = end) {
      const std::int64_t token = token_at(tokens, s, rows[static_cast<std::size_t>(begin)]);
      while (end < s.rows && token_at(tokens, s, rows[static_cast<std::size_t>(end)]) == token) ++end;
      part.add_rows(end - begin, [&](std::int64_t i) { return rows[static_cast<std::size_t>(begin + i)]; }, s.constant, d_table,
                    token);
    }
    if (d_types != nullptr) {
      part.clear(d_types, s.variant);
      for (std::size_t type = 0; type < typed.size() && type < s.variant; ++type) {
        const auto row_at = [&](std::int64_t i) { return typed[type][static_cast<std::size_t>(i)]; };
        part.add_rows(static_cast<std::int64_t>(typed[type].size()), row_at, 0, d_types, static_cast<std::int64_t>(type));
      }
    }
    if (d_positions == nullptr) return;
    part.clear(d_positions, s.positions);
    for (std::int64_t position = 0; position < s.sequence; ++position) {
      part.add_rows(s.rows / s.sequence, [&](std::int64_t i) { return i * s.sequence + position; }, 0, d_positions,
                    s.stride + position);
    }
  });
}

PLIMSOLL_INSTANTIATE_HALF_KERNEL(embedding);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(embedding_backward);

}  // namespace plimsoll::kernels
