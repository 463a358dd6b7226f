#pragma once

#include "executor/cuda/kernels/pack.h"

// Sums of columns in two passes: blocks add up tiles of rows, and then the tiles' shares are added, each in a fixed order.
namespace plimsoll::cuda {

/// How a block adds up columns of a tile of rows: each of its groups takes every kGroups-th row, each thread a pack of columns; then
/// each thread adds the groups' sums of a column of its own.
struct ColumnGroups {
  static constexpr int kGroups = 8, kWarp = 32, kThreads = kGroups * kWarp;
  static constexpr int kColumns = kWarp * kPack;
  using Sums = float[kGroups][kColumns];

  Index tile, column;  ///< the block's rows, and where the thread's pack begins
  Index summed;        ///< the column whose sum the thread finishes
  int group, place;    ///< place: of the pack among the block's columns

  template <typename Block>
  PLIMSOLL_DEVICE ColumnGroups(const Block& block, Index columns)
      : tile(block.index() / parts_of(columns, kColumns)),
        column(block.index() % parts_of(columns, kColumns) * kColumns + block.thread() % kWarp * kPack),
        summed(block.index() % parts_of(columns, kColumns) * kColumns + block.thread()),
        group(block.thread() / kWarp),
        place(block.thread() % kWarp * kPack) {}

  PLIMSOLL_DEVICE void put(Sums& shared, const float (&sums)[kPack]) const {
    for (int k = 0; k < kPack; ++k) shared[group][place + k] = sums[k];
  }
  template <typename Block>
  PLIMSOLL_DEVICE float sum(const Block& block, const Sums& shared) const {
    float sum = 0;
    for (int g = 0; g < kGroups; ++g) sum += shared[g][block.thread()];
    return sum;
  }
};

/// Rows of a tile: few enough tiles that their shares, [tile][column] of fp32, take kShareElements at most.
inline constexpr Index kShareElements = Index{1} << 18;
constexpr Index rows_of_tile(Index rows, Index columns) {
  constexpr Index kLeast = 128;
  const Index tiles = columns < kShareElements ? kShareElements / columns : 1;
  return parts_of(rows, tiles) > kLeast ? parts_of(rows, tiles) : kLeast;
}

template <typename S>
struct ColumnShares {
  static constexpr int kThreads = ColumnGroups::kThreads;
  struct Args {
    Index rows, columns, stride;
    const S* x;
    float* shares;
    bool packed;
  };
  struct Shared {
    ColumnGroups::Sums values;
  };

  static Index tiles(const Args& args) { return parts_of(args.rows, rows_of_tile(args.rows, args.columns)); }
  static Index blocks(const Args& args) { return tiles(args) * parts_of(args.columns, ColumnGroups::kColumns); }

  template <typename Block>
  PLIMSOLL_DEVICE static void run(const Block& block, Shared& shared, const Args& a) {
    const ColumnGroups own(block, a.columns);
    const Index rows = rows_of_tile(a.rows, a.columns), begin = own.tile * rows;
    const Index end = begin + rows < a.rows ? begin + rows : a.rows;
    float sums[kPack] = {}, values[kPack];
    for (Index row = begin + own.group; own.column < a.columns && row < end; row += ColumnGroups::kGroups) {
      load_pack(block, values, a.x + row * a.stride, own.column, a.columns, a.packed);
      for (int k = 0; k < kPack; ++k) sums[k] += values[k];
    }
    own.put(shared.values, sums);
    block.sync();
    if (own.summed < a.columns) a.shares[own.tile * a.columns + own.summed] = own.sum(block, shared.values);
  }
};

/// Sums shares [part][column]: each of kLanes threads those of every kLanes-th part, in order, then theirs.
template <typename S>
struct SumShares {
  static constexpr int kColumns = 32, kLanes = 8, kThreads = kColumns * kLanes;
  struct Args {
    const float* shares;
    Index parts, stride;  ///< from part to part
    Index columns;
    S* sums;
  };
  struct Shared {
    float values[kLanes][kColumns];
  };

  static Index blocks(const Args& args) { return parts_of(args.columns, kColumns); }

  template <typename Block>
  PLIMSOLL_DEVICE static void run(const Block& block, Shared& shared, const Args& a) {
    const int own = block.thread() % kColumns, lane = block.thread() / kColumns;
    const Index column = block.index() * kColumns + own;
    float sum = 0;
    for (Index part = lane; column < a.columns && part < a.parts; part += kLanes) sum += a.shares[part * a.stride + column];
    shared.values[lane][own] = sum;
    block.sync();
    if (lane > 0 || column >= a.columns) return;
    for (int i = 1; i < kLanes; ++i) sum += shared.values[i][own];
    put(a.sums[column], sum);
  }
};

}  // namespace plimsoll::cuda
