#pragma once

#include <cmath>

#include "core/graph/masked_token.h"
#include "executor/cuda/kernels/column_sums.h"

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
    // A micro-batch has less than 2³¹ rows, and half as many bits divide several times as fast.
    const auto sequence_of = static_cast<std::uint32_t>(row) / static_cast<std::uint32_t>(sequence);
    const Index token = tokens[row + static_cast<Index>(sequence_of)] & ~kUncounted;
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
  bool packed;
};

/// The token table's gradient without atomics: the blocks of a token's first row, one for each group of columns, add the gradients of
/// all its rows and round once; the other rows' blocks end at once. Of the rows with the token each group of threads takes every
/// kGroups-th, in order, and then their sums are added. Rows of tokens that do not occur are not touched, nor is any for a
/// stray number.
template <typename S>
struct EmbedBackward {
  static constexpr int kThreads = ColumnGroups::kThreads, kWarp = ColumnGroups::kWarp;
  static constexpr int kLooked = 4;  ///< rows that a thread looks at in a round
  static constexpr int kWords = kLooked * ColumnGroups::kGroups;
  using Args = EmbedBackwardArgs<S>;
  struct Shared {
    int same[kThreads];
    Word rows[kWords];  ///< of a round, a bit each: whether it has the token
    ColumnGroups::Sums sums;
  };

  static Index blocks(const Args& args) { return args.rows * parts_of(args.width, ColumnGroups::kColumns); }

  template <typename Block>
  PLIMSOLL_DEVICE static void run(const Block& block, Shared& shared, const Args& a) {
    const ColumnGroups own(block, a.width);
    const Index first = own.tile, token = a.at.token(first);
    if (token < 0) return;  // the same answer in every thread
    int seen = 0;
    for (Index row = block.thread(); row < first; row += kThreads) seen |= a.at.token(row) == token ? 1 : 0;
    if (reduce<kThreads>(block, shared.same, seen, Larger()) != 0) return;  // the same answer in every thread
    float sums[kPack] = {};
    int turn = 0;  // of the group that takes the next row
    for (Index from = first; from < a.rows; from += kLooked * kThreads) {
      look(block, shared, a, from, token);
      block.sync();
      for (int w = 0; w < kWords; ++w) turn = add(block, a, own, from + w * kWarp, shared.rows[w], turn, sums);
      block.sync();
    }
    own.put(shared.sums, sums);
    block.sync();
    if (own.summed >= a.width) return;
    S& place = a.d_table[token * a.width + own.summed];
    const float sum = own.sum(block, shared.sums);
    put(place, wide(place) + (a.factor == 0 ? sum : a.factor * sum));
  }

 private:
  template <typename Block>
  PLIMSOLL_DEVICE static void look(const Block& block, Shared& shared, const Args& a, Index from, Index token) {
    for (int i = 0; i < kLooked; ++i) {
      const Index row = from + i * kThreads + block.thread();
      const Word word = block.ballot(row < a.rows && a.at.token(row) == token);
      if (block.thread() % kWarp == 0) shared.rows[i * ColumnGroups::kGroups + block.thread() / kWarp] = word;
    }
  }

  /// Adds the group's share of the rows that `word` names; returns whose turn comes next.
  template <typename Block>
  PLIMSOLL_DEVICE static int add(const Block& block, const Args& a, const ColumnGroups& own, Index from, Word word, int turn,
                                 float (&sums)[kPack]) {
    for (; word != 0; word &= word - 1, turn = (turn + 1) % ColumnGroups::kGroups) {
      if (turn != own.group || own.column >= a.width) continue;
      float values[kPack];
      load_pack(block, values, a.dx + (from + block.first_bit(word)) * a.width, own.column, a.width, a.packed);
      for (int k = 0; k < kPack; ++k) sums[k] += values[k];
    }
    return turn;
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
