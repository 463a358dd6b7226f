#include "formats/exporters/kept_operators.h"

#include <algorithm>
#include <array>

namespace plimsoll {
namespace {

constexpr std::array<std::string_view, 4> kKinds{"matmul", "attention", "norm", "activation"};

/// Position in kKinds of what PyTorch calls the operator; nothing where it is several small ones.
int kind_of(const PlannedOperator& made, const TorchBlocks& blocks) {
  switch (made.kind) {
    case OpKind::kLinear:
      return 0;
    case OpKind::kAttention:
      return 1;
    case OpKind::kNorm:
      return blocks.fused_norms ? 2 : -1;
    case OpKind::kActivation:
      return 3;
    default:
      return -1;
  }
}

/// How many of PyTorch's operators ours stands for.
int count_of(const PlannedOperator& made, const TorchBlocks& blocks) {
  if (made.output == "qkv") return blocks.query_products;
  return made.output == "ffn in" ? blocks.inner_products : 1;
}

void add_planned(const std::vector<PlannedOperator>& block, const TorchBlocks& blocks, KeptSegment& segment) {
  for (const PlannedOperator& made : block) {
    const bool keep = made.kept.count > 0 && made.again.count == 0;
    const int kind = kind_of(made, blocks);
    if (kind < 0) {
      // A rotation in place keeps what the product before it wrote.
      if (keep && made.kind != OpKind::kRope && made.kind != OpKind::kAdd) segment.unspoken += made.kept;
      continue;
    }
    KeptKind& of = segment.kinds[static_cast<std::size_t>(kind)];
    of.keep.insert(of.keep.end(), static_cast<std::size_t>(count_of(made, blocks)), keep);
    if (keep) of.bytes += made.kept;
  }
}

/// Every other product, from the first on, and fused attention: torchtitan's rule for single operators.
void add_every_other(const TorchBlocks& blocks, KeptSegment& segment) {
  const int products = blocks.query_products + blocks.inner_products + 2;
  for (int product = 0; product < products; ++product) segment.kinds[0].keep.push_back(product % 2 == 0);
  segment.kinds[1].keep.push_back(true);
}

}  // namespace

std::vector<KeptSegment> kept_segments(const ExportedTraining& training, const TorchBlocks& blocks) {
  std::vector<KeptSegment> segments;
  for (std::int64_t first = 0; first < training.spec.layers; first += training.every) {
    KeptSegment segment{.first = first,
                        .last = std::min(first + training.every, training.spec.layers) - 1,
                        .again = training.checkpoints != ExportedCheckpoints::kNone};
    for (const std::string_view kind : kKinds) segment.kinds.push_back({.kind = std::string(kind)});
    for (std::int64_t block = first; block <= segment.last; ++block) {
      const auto at = static_cast<std::size_t>(block);
      if (training.checkpoints == ExportedCheckpoints::kSelective) add_every_other(blocks, segment);
      if (at < training.blocks.size()) add_planned(training.blocks[at], blocks, segment);
    }
    segments.push_back(std::move(segment));
  }
  return segments;
}

}  // namespace plimsoll
