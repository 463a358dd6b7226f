#include "sim/parallel/piece_table.h"

#include <optional>

#include "sim/planner/parallel_for.h"

namespace plimsoll {

PieceKey piece_key(const ParallelLayout& l) {
  return {l.tensor_ranks, l.tensor_layout, l.tensor_depth,      l.context_ranks,
          l.expert_ranks, l.micro_batch,   l.sequence_parallel, static_cast<int>(l.recomputation),
          l.partitions_checkpoints, l.cuts_products};
}

PieceTable make_piece_table(const ParallelQuestion& question, const std::vector<ParallelLayout>& layouts, unsigned threads) {
  std::map<PieceKey, ParallelLayout> different;
  for (const ParallelLayout& layout : layouts) different.emplace(piece_key(layout), layout);
  const std::vector<std::pair<PieceKey, ParallelLayout>> list(different.begin(), different.end());
  std::vector<std::optional<Result<StagePieces>>> made(list.size());
  parallel_for(
      list.size(),
      [&](std::size_t i) {
        made[i] = stage_pieces(question.spec, question.recipe, list[i].second, question.choices, question.cluster);
      },
      threads);
  PieceTable table;
  for (std::size_t i = 0; i < list.size(); ++i) table.emplace(list[i].first, std::move(*made[i]));
  return table;
}

}  // namespace plimsoll
