#pragma once

#include <cmath>

#include "core/graph/masked_token.h"
#include "executor/cuda/kernels/scalar.h"

namespace plimsoll::cuda {

/// Tokens [sequences, sequence + 1], whose last column is a target only, and the extents of two segments, where there are types.
struct TokenPlaces {
  Index sequence;
  const std::int32_t* tokens;
  const std::int32_t* extents;  ///< [sequence][tokens, begin of the second segment]; null: there are no types
  Index types;
  Index vocabulary;

  /// Negative where the memory that a plan gave holds no token of the vocabulary: such a row has no place in any table.
  PLIMSOLL_DEVICE Index token(Index row) const {
    const Index token = tokens[row / sequence * (sequence + 1) + row % sequence] & ~kUncounted;
    return token < vocabulary ? token : -1;
  }
  PLIMSOLL_DEVICE Index type(Index row) const {
    const std::int32_t* extent = extents + 2 * (row / sequence);
    const Index place = row % sequence;
    return types > 1 && place >= extent[1] && place < extent[0] ? 1 : 0;
  }
};

/// Element i of the sum of a row's token, position and type; NaN where there is no such token.
template <typename S>
struct Embed {
  TokenPlaces at;
  Index width;
  const S *table, *positions, *type_table;  ///< the last two may be null
  float factor;                             ///< of the token's row; 0: none
  S* y;
  PLIMSOLL_DEVICE void operator()(Index i) const {
    const Index row = i / width, column = i % width, token = at.token(row);
    float value = token < 0 ? NAN : wide(table[token * width + column]);
    if (factor != 0) value *= factor;
    if (positions != nullptr) value += wide(positions[row % at.sequence * width + column]);
    if (type_table != nullptr) value += wide(type_table[at.type(row) * width + column]);
    put(y[i], value);
  }
};

template <typename S>
struct EmbedBackwardArgs {
  TokenPlaces at;
  Index rows, width;
  const S* dx;
  S* d_table;
  float factor;
};

/// The token table's gradient without atomics: the block of a token's first row adds the gradients of all its rows in their
/// order and rounds once; the other rows' blocks end at once. Rows of tokens that do not occur are not touched, nor
/// is any for a stray number.
template <typename S>
struct EmbedBackward {
  static constexpr int kThreads = 256;
  using Args = EmbedBackwardArgs<S>;
  struct Shared {
    int same[kThreads];
  };

  static Index blocks(const Args& args) { return args.rows; }

  template <typename Block>
  PLIMSOLL_DEVICE static void run(const Block& block, Shared& shared, const Args& a) {
    const Index first = block.index(), token = a.at.token(first);
    if (token < 0) return;  // the same answer in every thread
    int seen = 0;
    for (Index row = block.thread(); row < first; row += kThreads) seen |= a.at.token(row) == token ? 1 : 0;
    if (reduce<kThreads>(block, shared.same, seen, Larger()) != 0) return;  // the same answer in every thread
    for (Index from = 0; from < a.width; from += kThreads) {
      const Index column = from + block.thread();
      float sum = column < a.width ? wide(a.d_table[token * a.width + column]) : 0;
      for (Index at = first; at < a.rows; at += kThreads) {
        const Index row = at + block.thread();
        shared.same[block.thread()] = row < a.rows && a.at.token(row) == token ? 1 : 0;
        block.sync();
        for (int k = 0; column < a.width && k < kThreads; ++k) {
          if (shared.same[k] == 0) continue;
          const float gradient = wide(a.dx[(at + k) * a.width + column]);
          sum += a.factor == 0 ? gradient : a.factor * gradient;
        }
        block.sync();
      }
      if (column < a.width) put(a.d_table[token * a.width + column], sum);
    }
  }
};

/// Element i of the position table's gradient: the sum over sequences in their order; 0 beyond the sequence.
template <typename S>
struct PositionGradient {
  Index sequences, sequence, width;
  const S* dx;
  S* d_positions;
  PLIMSOLL_DEVICE void operator()(Index i) const {
    const Index position = i / width, column = i % width;
    float sum = 0;
    for (Index s = 0; position < sequence && s < sequences; ++s) sum += wide(dx[(s * sequence + position) * width + column]);
    put(d_positions[i], sum);
  }
};

/// Element i of the type table's gradient: the sum over the type's rows in their order.
template <typename S>
struct TypeGradient {
  TokenPlaces at;
  Index rows, width;
  const S* dx;
  S* d_types;
  PLIMSOLL_DEVICE void operator()(Index i) const {
    const Index type = i / width, column = i % width;
    float sum = 0;
    for (Index row = 0; row < rows; ++row) {
      if (at.type(row) == type) sum += wide(dx[row * width + column]);
    }
    put(d_types[i], sum);
  }
};

}  // namespace plimsoll::cuda
