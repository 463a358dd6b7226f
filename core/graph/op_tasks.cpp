#include "core/graph/op_tasks.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <vector>

#include "core/graph/attention_kind.h"
#include "core/graph/attention_work.h"
#include "core/graph/expert_shape.h"

namespace plimsoll {
namespace {

// Tiles of 256 × 384 outputs cost a few per cent of the rate of one large product (bench/results/kernels.txt) and leave
// a layer of a small model enough tasks for several workers.
constexpr std::int64_t kMostRows = 256;
constexpr std::int64_t kMostColumns = 384;
constexpr std::int64_t kGranule = 32;

// With so many tasks for each worker they are as good as shared evenly.
constexpr std::int64_t kManyTasks = 32;

std::int64_t parts_of(std::int64_t size, std::int64_t part) { return (size + part - 1) / part; }

/// `size` cut into the fewest equal parts of at most `most`, rounded up so that the libraries' register blocks stay
/// full.
std::int64_t even_part(std::int64_t size, std::int64_t most) {
  const std::int64_t parts = std::max<std::int64_t>(1, parts_of(size, most));
  const std::int64_t part = parts_of(size, parts);
  return std::max<std::int64_t>(1, parts_of(part, kGranule) * kGranule);
}

struct Extent {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

/// What a matrix product computes; no rows for other kernels.
Extent result_of(OpKind kind, const OpShape& s) {
  switch (kind) {
    case OpKind::kLinear: return {s.rows, s.outputs};
    case OpKind::kLinearBackwardInput: return {s.rows, s.inputs};
    case OpKind::kLinearBackwardWeight:
    case OpKind::kExpertLinearBackwardWeight: return {s.outputs, s.inputs};
    case OpKind::kExpertLinear: return {even_rows(s), s.outputs};
    case OpKind::kExpertLinearBackwardInput: return {even_rows(s), s.inputs};
    default: return {};
  }
}

/// Equal products that the kernel consists of: one an expert, taken to have as many tokens each.
std::int64_t products_of(OpKind kind, const OpShape& s) {
  const bool grouped = kind == OpKind::kExpertLinear || kind == OpKind::kExpertLinearBackwardInput ||
                       kind == OpKind::kExpertLinearBackwardWeight;
  return grouped ? s.experts : 1;
}

std::int64_t sequences_of(const OpShape& s) { return s.sequence > 0 ? s.rows / s.sequence : 0; }

/// Work of each task, in the order in which they are taken.
std::vector<std::int64_t> task_sizes(OpKind kind, const OpShape& s) {
  std::vector<std::int64_t> sizes;
  const bool triangle = (kind == OpKind::kAttention || kind == OpKind::kBiasedAttention) &&
                        is_causal(static_cast<AttentionKind>(s.variant));
  if (triangle) {  // a tile of queries sees all keys up to its end; the longest come first
    for (std::int64_t tile = parts_of(s.sequence, kAttentionRows); tile > 0; --tile) {
      sizes.insert(sizes.end(), static_cast<std::size_t>(sequences_of(s) * s.heads), tile);
    }
    return sizes;
  }
  if (is_attention(kind)) {
    sizes.assign(static_cast<std::size_t>(tasks_of(kind, s)), 1);
    return sizes;
  }
  const Extent result = result_of(kind, s);
  const TileSize tile = tile_size(result.rows, result.columns);
  for (std::int64_t column = 0; column < result.columns; column += tile.columns) {
    for (std::int64_t row = 0; row < result.rows; row += tile.rows) {
      sizes.push_back(std::min(tile.rows, result.rows - row) * std::min(tile.columns, result.columns - column));
    }
  }
  const std::vector<std::int64_t> of_one = sizes;
  for (std::int64_t i = 1; i < products_of(kind, s); ++i) sizes.insert(sizes.end(), of_one.begin(), of_one.end());
  return sizes;
}

}  // namespace

TileSize tile_size(std::int64_t rows, std::int64_t columns) {
  return {.rows = even_part(rows, kMostRows), .columns = even_part(columns, kMostColumns)};
}

std::int64_t tasks_of(OpKind kind, const OpShape& s) {
  if (attends_forward(kind)) return sequences_of(s) * s.heads * parts_of(s.sequence, kAttentionRows);
  if (is_attention(kind)) return sequences_of(s) * s.kv_heads;
  const Extent result = result_of(kind, s);
  if (result.rows == 0) return 0;
  const TileSize tile = tile_size(result.rows, result.columns);
  return products_of(kind, s) * parts_of(result.rows, tile.rows) * parts_of(result.columns, tile.columns);
}

double busiest_share(OpKind kind, const OpShape& s, std::int64_t workers) {
  const std::int64_t tasks = tasks_of(kind, s);
  const double even = 1.0 / static_cast<double>(std::max<std::int64_t>(1, workers));
  if (workers <= 1 || tasks == 0 || tasks > kManyTasks * workers) return even;
  std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> busy_until;
  for (std::int64_t i = 0; i < workers; ++i) busy_until.push(0);
  std::int64_t work = 0, longest = 0;
  for (const std::int64_t size : task_sizes(kind, s)) {
    const std::int64_t until = busy_until.top() + size;
    busy_until.pop();
    busy_until.push(until);
    longest = std::max(longest, until);
    work += size;
  }
  return work > 0 ? static_cast<double>(longest) / static_cast<double>(work) : even;
}

}  // namespace plimsoll
