// The part of RankLowering that finds the norm of all gradients, which no rank has.
#include <algorithm>

#include "core/model/expert_slice.h"
#include "core/plan/state_part.h"
#include "sim/planner/ranks/rank_lowering.h"

namespace plimsoll {
namespace {

constexpr std::uint32_t kNorms = 1'001;  ///< a channel of what goes once a step, behind those of the crossings
constexpr std::int64_t kTermBytes = 8;

}  // namespace

/// The first of ranks that share layers or experts takes all of its gradients, the others what they alone have. With
/// --zero every rank knows all terms, and those of divided groups are of the ranks that keep their parts.
std::vector<RankLowering::NormTerm> RankLowering::norm_terms() const {
  std::vector<NormTerm> terms;
  const std::uint32_t shares = job_.zero >= 1 ? job_.replicas : 1;
  const std::uint32_t first = job_.zero >= 1 ? 0 : job_.first_sharer(replica_);
  for (std::uint32_t slice = 0; slice < job_.tensor * job_.experts; ++slice) {
    for (std::uint32_t share = 0; share < shares; ++share) {
      for (std::size_t i = 0; i < graph_.parameters.groups.size(); ++i) {
        const ParameterGroup& of = graph_.parameters.groups[i];
        const std::uint32_t parts = is_sharded(GroupId(i)) ? part_of_replica(GroupId(i)).count : 1;
        if (share >= parts) continue;
        const std::uint32_t replica =
            first + share * (is_shared_mixture(GroupId(i)) ? job_.experts : 1) + slice / job_.tensor;
        const std::uint32_t rank = job_.rank_at(place_of(cut_.stage_of_group[i]), replica, slice % job_.tensor);
        const ElementPart part = part_of(of.elements, parts, share);
        if (slice == 0) terms.push_back({rank, GroupId(i), part});
        if (slice == 0) continue;
        for (const ElementRun& run : runs_between(job_.experts > 1 ? own_runs_of_experts(of) : own_runs_of_slice(of), part))
          terms.push_back({rank, GroupId(i), {run.whole, run.count}});
      }
    }
  }
  const auto comes_before = [](const NormTerm& a, const NormTerm& b) { return a.rank < b.rank; };
  if (job_.experts > 1 && job_.zero >= 1)
    std::stable_sort(terms.begin(), terms.end(), comes_before);  // one message a rank
  return terms;
}

void RankLowering::exchange_norms(const std::vector<NormTerm>& terms, BufferId partials) {
  out_.begin_segment("norms of other ranks", 0, -1);
  for (std::size_t begin = 0, end = 0; begin < terms.size(); begin = end) {
    const std::uint32_t rank = terms[begin].rank;
    while (end < terms.size() && terms[end].rank == rank) ++end;
    const Range range{partials, Bytes(static_cast<std::int64_t>(begin) * kTermBytes),
                      Bytes(static_cast<std::int64_t>(end - begin) * kTermBytes)};
    if (rank != rank_) {
      receive(rank, kNorms, "norms", range);
      continue;
    }
    for (std::uint32_t other = 0; other < job_.ranks(); ++other) {
      const bool needs = job_.zero >= 1 || job_.first_sharer(job_.replica_of(other)) == job_.first_sharer(replica_);
      if (other != rank_ && needs) send(other, kNorms, "norms", range);
    }
  }
}

void RankLowering::launch_norm(const NormTerm& term, const Range& result) {
  const auto of_group = [&](const Op& op) {
    return op.kind == OpKind::kSquaredNorm && graph_.at(op.operands[0].tensor).group == term.group;
  };
  const Op& op = *std::find_if(graph_.ops.begin(), graph_.ops.end(), of_group);
  const TensorId tensor = op.operands[0].tensor;
  const std::int64_t size = size_of(graph_.at(tensor).dtype);
  const auto own = parts_.find(tensor);
  const bool apart = own != parts_.end();  // the replica's part is all that there is
  const std::int64_t begin = apart ? part_of(op.shape.rows, job_.replicas, replica_).first : 0;
  const Range gradient{apart ? own->second : range_of(op.operands[0], 0).buffer, Bytes((term.elements.first - begin) * size),
                       Bytes(term.elements.count * size)};
  OpShape shape = op.shape;
  shape.rows = term.elements.count;
  out_.launch(places_.compute, {op.kind, op.dtype, shape}, {{gradient, Access::kRead}, {result, Access::kWrite}});
}

void RankLowering::write_norms() {
  const std::vector<NormTerm> terms = norm_terms();
  const auto count = static_cast<std::int64_t>(terms.size());
  const BufferId partials = book_.add({.name = "squared norms",
                                       .space = places_.device,
                                       .bytes = Bytes(count * kTermBytes),
                                       .category = TensorKind::kScalar});
  out_.begin_segment("gradient norm", 0, -1);
  out_.set_phase(Phase::kOptimizer);
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const Range result{partials, Bytes(static_cast<std::int64_t>(i) * kTermBytes), Bytes(kTermBytes)};
    if (terms[i].rank == rank_) launch_norm(terms[i], result);
  }
  exchange_norms(terms, partials);
  out_.begin_segment("clip", 0, -1);
  for (const Op& op : graph_.ops) {
    if (op.kind != OpKind::kClipFactor) continue;
    OpShape shape = op.shape;
    shape.terms = count;
    clip_factor_ = make_buffer(graph_.at(op.operands[1].tensor));
    out_.launch(places_.compute, {op.kind, op.dtype, shape},
                {{out_.whole(partials), Access::kRead}, {out_.whole(clip_factor_), Access::kWrite}});
  }
}

}  // namespace plimsoll
