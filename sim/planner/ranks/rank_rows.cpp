// The part of RankLowering for ranks that share layers and, between them, the rows of the stream (Korthikanti et al. 2022,
// sequence parallelism, section 4.2.2): norms and residuals work on each rank's own rows; what the products read is gathered, and
// where all would get the sum of their terms, each gets its own rows of it.
#include <algorithm>

#include "core/plan/state_part.h"
#include "sim/planner/ranks/rank_lowering.h"

namespace plimsoll {
namespace {

bool is_norm_of_block(ParameterRole role) {
  return role == ParameterRole::kNorm1Weight || role == ParameterRole::kNorm1Bias || role == ParameterRole::kNorm2Weight ||
         role == ParameterRole::kNorm2Bias;
}

}  // namespace

bool RankLowering::works_on_own_rows(const Op& op) const {
  const bool row_by_row = op.kind == OpKind::kAdd || op.kind == OpKind::kNorm || op.kind == OpKind::kNormBackward;
  return job_.sequence_parallel && op.block >= 0 && row_by_row;
}

Exchange RankLowering::among_slices(ExchangeKind kind, DType dtype) const {
  Exchange exchange{.kind = kind, .dtype = dtype, .channel = kSlicesChannel, .ranks = {}};
  for (std::uint32_t slice = 0; slice < job_.tensor; ++slice) exchange.ranks.push_back(job_.rank_at(place_, replica_, slice));
  return exchange;
}

BufferId RankLowering::make_own_rows(TensorId whole, std::uint32_t micro_batch) {
  const Tensor& of = graph_.at(whole);
  const BufferId buffer = book_.add({.name = of.name + ", own rows",
                                     .space = places_.device,
                                     .bytes = Bytes(of.bytes().count / job_.tensor),
                                     .category = of.kind});
  own_rows_[{micro_batch, whole}] = {.buffer = buffer, .gathered_in = {}};
  holder(whole, micro_batch) = {};
  return buffer;
}

/// What is read and written in place becomes a copy: gradients that wait may still read all of it.
Range RankLowering::own_rows(TensorId whole, Access access, std::uint32_t micro_batch) {
  const auto known = own_rows_.find({micro_batch, whole});
  if (known != own_rows_.end() && access != Access::kWrite) {
    if (writes(access)) holder(whole, micro_batch) = {};
    return out_.whole(known->second.buffer);
  }
  if (access == Access::kWrite) return out_.whole(make_own_rows(whole, micro_batch));
  const Bytes bytes(graph_.at(whole).bytes().count / job_.tensor);
  const Range part{holder(whole, micro_batch), Bytes(slice_ * bytes.count), bytes};
  if (access == Access::kRead) return part;
  const Range copied = out_.whole(make_own_rows(whole, micro_batch));
  out_.copy(places_.compute, InstructionKind::kCopy, part, copied);
  return copied;
}

void RankLowering::launch_on_own_rows(const Op& op, std::uint32_t micro_batch) {
  OpShape shape = op.shape;
  shape.rows /= job_.tensor;
  std::vector<std::pair<Range, Access>> operands;
  for (const Operand& operand : op.operands) {
    const TensorKind kind = graph_.at(operand.tensor).kind;
    const bool of_rows = kind == TensorKind::kActivation || kind == TensorKind::kActivationGradient;
    const Range range =
        of_rows ? own_rows(whole_of(operand.tensor), operand.access, micro_batch) : range_of(operand, micro_batch);
    operands.emplace_back(range, operand.access);
  }
  out_.launch(places_.compute, {op.kind, op.dtype, shape}, operands);
}

/// A backward pass gathers again what the forward pass had together, which so need not be kept.
void RankLowering::gather_rows(TensorId tensor, std::uint32_t micro_batch) {
  const TensorId whole = whole_of(tensor);
  const auto known = own_rows_.find({micro_batch, whole});
  if (known == own_rows_.end()) return;
  BufferId& gathered = holder(whole, micro_batch);
  if (gathered.valid() && known->second.gathered_in == entered_.phase) return;
  gathered = make_buffer(graph_.at(whole));
  known->second.gathered_in = entered_.phase;
  out_.begin_segment("gather rows", global(micro_batch), entered_.block);
  out_.exchange(queue_named("slices"), among_slices(ExchangeKind::kAllGather, graph_.at(whole).dtype),
                {{out_.whole(known->second.buffer), Access::kRead}, {out_.whole(gathered), Access::kWrite}});
  go_on();
}

void RankLowering::gather_what_is_read(const Op& op, std::uint32_t micro_batch) {
  for (const Operand& operand : op.operands) {
    if (reads(operand.access)) gather_rows(operand.tensor, micro_batch);
  }
}

void RankLowering::scatter_rows(const Op& op, const Range& product, std::uint32_t micro_batch) {
  const TensorId whole = whole_of(op.operands.back().tensor);
  const DType dtype = graph_.at(whole).dtype;
  const Range own = out_.whole(make_own_rows(whole, micro_batch));
  out_.begin_segment("sum of own rows", global(micro_batch), op.block);
  out_.exchange(queue_named("slices"), among_slices(ExchangeKind::kReduceScatter, dtype),
                {{product, Access::kRead},
                 {own, Access::kWrite},
                 workspace_of(product.bytes.count / size_of(dtype), dtype, job_.tensor)});
  go_on();
}

/// Each rank has the terms of its own rows in the gradients of the blocks' norms.
void RankLowering::sum_norm_gradients(TensorId sum, BufferId stored) {
  const Tensor& of = graph_.at(sum);
  if (!job_.sequence_parallel || !of.group.valid() || graph_.parameters.at(of.group).block < 0) return;
  out_.begin_segment("sum of norms' gradients", 0, of.block);
  const std::int64_t size = size_of(of.dtype);
  for (const ParameterTensor& tensor : graph_.parameters.at(of.group).tensors) {
    if (!is_norm_of_block(tensor.role)) continue;
    const Range gradient{stored, Bytes(tensor.offset * size), Bytes(tensor.elements() * size)};
    out_.exchange(queue_named("slices"), among_slices(ExchangeKind::kAllReduce, of.dtype),
                  {{gradient, Access::kReadWrite}, workspace_of(tensor.elements(), of.dtype, job_.tensor)});
  }
  go_on();
}

}  // namespace plimsoll
