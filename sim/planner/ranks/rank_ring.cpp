// The part of RankLowering for ranks that share a sequence: each has a slice of its positions, and keys and values go from rank
// to rank, so that every query meets those before it (Li et al. 2021, sequence parallelism; Liu et al. 2023, ring attention).
#include "core/graph/op_work.h"
#include "sim/planner/ranks/rank_lowering.h"

namespace plimsoll {
namespace {

constexpr std::uint32_t kKeys = 910'000;          ///< the channel of keys and values
constexpr std::uint32_t kKeyGradients = 910'001;  ///< of their gradients
constexpr std::uint32_t kLossTerms = 910'002;     ///< of what each slice adds to the mean loss

}  // namespace

/// The graph is that of one slice; what depends on where the slice lies in its sequence is said here.
OpShape RankLowering::shape_on_slice(const Op& op) const {
  OpShape shape = op.shape;
  if (goes_round() &&
      op.kind == OpKind::kCrossEntropy)  // the mean is over a round of the first stage, for all stages alike
    shape.terms = shape.terms / graph_.recipe.accumulate * job_.replicas_of(0);
  if (job_.context == 1) return shape;
  const std::int64_t first = slice_of_sequence() * graph_.recipe.sequence;
  switch (op.kind) {
    case OpKind::kRope:
    case OpKind::kRopeBackward: shape.positions = first; break;
    case OpKind::kEmbedding:
    case OpKind::kEmbeddingBackward: shape.stride = shape.positions > 0 ? first : 0; break;
    case OpKind::kCrossEntropy:
    case OpKind::kLoss:  // the mean is over the tokens of all slices
      shape.inputs = job_.context * (shape.inputs > 0 ? shape.inputs : shape.rows);
      shape.terms *= job_.context;
      if (op.kind == OpKind::kCrossEntropy) shape.terms = shape.terms / graph_.recipe.accumulate * job_.recipe.accumulate;
      break;
    default: break;
  }
  return shape;
}

/// Of each sequence the own tokens, and the one behind them as their last target.
void RankLowering::copy_own_positions(const Range& batch, const Range& to) {
  if (job_.context == 1) return static_cast<void>(out_.copy(places_.h2d, InstructionKind::kCopy, batch, to));
  const std::int64_t token = size_of(DType::kInt32), own = graph_.recipe.sequence;
  const Bytes bytes((own + 1) * token);
  for (std::int64_t i = 0; i < job_.recipe.micro_batch; ++i) {
    Range from = batch, row = to;
    from.offset = Bytes((i * (job_.recipe.sequence + 1) + slice_of_sequence() * own) * token);
    row.offset = Bytes(i * bytes.count);
    from.bytes = row.bytes = bytes;
    out_.copy(places_.h2d, InstructionKind::kCopy, from, row);
  }
}

RankLowering::Ring RankLowering::ring_of(const Op& op, const Range& qkv) const {
  const bool forward = op.kind == OpKind::kAttention;
  Ring ring{.apart = {OpKind::kKeysValues, op.dtype, op.shape},
            .step = {forward ? OpKind::kAttentionStep : OpKind::kAttentionStepBackward, op.dtype, op.shape},
            .qkv = qkv,
            .bytes = Bytes(op.shape.rows * 2 * op.shape.kv_heads * op.shape.head_dim * size_of(op.dtype)),
            .index = slice_of_sequence()};
  ring.apart.shape.variant = 0;
  ring.step.shape.variant = static_cast<std::uint8_t>(AttentionKind::kFull);  // slices before the own one are seen whole
  return ring;
}

std::uint32_t RankLowering::rank_of_slice(std::uint32_t index) const {
  return job_.rank_at(place_, replica_ - slice_of_sequence() + index, slice_);
}

BufferId RankLowering::ring_buffer(const Ring& ring, const char* name, TensorKind kind) {
  return book_.add({.name = name, .space = places_.device, .bytes = ring.bytes, .category = kind});
}

void RankLowering::send_own_keys(const Ring& ring) {
  if (is_last(ring)) return;
  const Range own = out_.whole(ring_buffer(ring, "keys and values", TensorKind::kActivation));
  out_.launch(places_.compute, ring.apart, {{ring.qkv, Access::kRead}, {own, Access::kWrite}});
  send(rank_of_slice(ring.index + 1), kKeys, "keys", own);
}

Range RankLowering::pass_on_keys(const Ring& ring) {
  const Range arrived = out_.whole(ring_buffer(ring, "keys and values of another rank", TensorKind::kActivation));
  receive(rank_of_slice(ring.index - 1), kKeys, "keys", arrived);
  if (!is_last(ring)) send(rank_of_slice(ring.index + 1), kKeys, "keys", arrived);
  return arrived;
}

std::pair<Range, Access> RankLowering::ring_workspace(const Kernel& kernel) {
  const Processor& compute = plan_.platform.at(plan_.platform.at(places_.compute).processor);
  const BufferId buffer = book_.add({.name = "workspace",
                                     .space = places_.device,
                                     .bytes = plimsoll::workspace_of(kernel.kind, kernel.shape, kernel.dtype, compute.cores),
                                     .category = TensorKind::kWorkspace});
  return {out_.whole(buffer), Access::kWrite};
}

/// First the own slice, then those before it, the nearest first. One ahead is on its way while a step runs.
void RankLowering::attend_in_ring(const Op& op, const Operands& operands) {
  const Ring ring = ring_of(op, operands[0].first);
  out_.begin_segment("ring", global(entered_.micro_batch), op.block);
  send_own_keys(ring);
  Range next = ring.index > 0 ? pass_on_keys(ring) : Range();
  launch(op, operands);
  for (std::uint32_t step = 1; step <= ring.index; ++step) {
    const Range keys = next;
    if (step < ring.index) next = pass_on_keys(ring);
    out_.launch(places_.compute, ring.step,
                {operands[0],
                 {keys, Access::kRead},
                 {operands[1].first, Access::kReadWrite},
                 {operands[2].first, Access::kReadWrite},
                 ring_workspace(ring.step)});
  }
  go_on();
}

/// Gradients of keys and values go with them: each rank adds what its queries find, and the last one sends the sum to whose they
/// are, which adds its own. It is asked for first: in memory that waits for a send of this ring the ranks could wait in a circle.
void RankLowering::attend_back_in_ring(const Op& op, const Operands& operands) {
  const Ring ring = ring_of(op, operands[0].first);
  out_.begin_segment("ring", global(entered_.micro_batch), op.block);
  Range found;
  if (!is_last(ring)) {
    found = out_.whole(ring_buffer(ring, "gradients of keys and values, summed", TensorKind::kActivationGradient));
    receive(rank_of_slice(job_.context - 1), kKeyGradients, "key gradients", found);
  }
  send_own_keys(ring);
  Range next = ring.index > 0 ? pass_on_keys(ring) : Range();
  launch(op, operands);
  for (std::uint32_t step = 1; step <= ring.index; ++step) {
    const Range keys = next;
    if (step < ring.index) next = pass_on_keys(ring);
    const Range gradients = out_.whole(ring_buffer(ring, "gradients of keys and values", TensorKind::kActivationGradient));
    if (step > 1) receive(rank_of_slice(ring.index - 1), kKeyGradients, "key gradients", gradients);
    out_.launch(places_.compute, ring.step,
                {operands[0],
                 {keys, Access::kRead},
                 operands[1],
                 operands[2],
                 operands[3],
                 {operands[4].first, Access::kReadWrite},
                 {gradients, step > 1 ? Access::kReadWrite : Access::kWrite},
                 ring_workspace(ring.step)});
    const std::uint32_t to = is_last(ring) ? rank_of_slice(ring.index - step) : rank_of_slice(ring.index + 1);
    send(to, kKeyGradients, "key gradients", gradients);
  }
  if (!is_last(ring)) {
    Kernel joins = ring.apart;
    joins.kind = OpKind::kKeysValuesBackward;
    out_.launch(places_.compute, joins, {{found, Access::kRead}, {operands[4].first, Access::kReadWrite}});
  }
  go_on();
}

void RankLowering::sum_losses_of_slices(const std::vector<BufferId>& losses) {
  if (job_.context == 1) return;
  Exchange exchange{.kind = ExchangeKind::kAllReduce, .dtype = DType::kFp64, .channel = kLossTerms, .ranks = {}};
  for (std::uint32_t index = 0; index < job_.context; ++index) exchange.ranks.push_back(rank_of_slice(index));
  for (const BufferId loss : losses) {
    out_.exchange(queue_named("sums"), exchange,
                  {{out_.whole(loss), Access::kReadWrite}, workspace_of(1, exchange.dtype, job_.context)});
  }
}

}  // namespace plimsoll
