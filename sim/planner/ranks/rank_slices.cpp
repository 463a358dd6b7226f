// The part of RankLowering for ranks that share layers: each has a slice of every block (slice_of_model), computes a term of the
// products that join the slices, and gets the sum of all terms.
#include <algorithm>

#include "core/plan/state_part.h"
#include "sim/planner/ranks/rank_lowering.h"

namespace plimsoll {
namespace {

/// Products: x, weight, [bias], …
constexpr std::size_t kWeight = 1, kBias = 2;

/// A mixture's rows are terms of sums until they are tokens' again.
bool ends_mixture(OpKind kind) {
  return kind == OpKind::kCombine || kind == OpKind::kCombineBackward || kind == OpKind::kDispatchBackward;
}

}  // namespace

TensorCut RankLowering::cut_of_product(const Op& op) const {
  const bool product =
      op.kind == OpKind::kLinear || op.kind == OpKind::kLinearBackwardInput || op.kind == OpKind::kExpertLinear;
  if (job_.tensor == 1 || !product || op.block < 0) return TensorCut::kNone;
  const Tensor& weight = graph_.at(op.operands[kWeight].tensor);
  for (const ParameterTensor& tensor : graph_.parameters.at(weight.group).tensors) {
    if (tensor.offset == weight.view_offset) return cut_of(tensor.role);
  }
  return TensorCut::kNone;
}

void RankLowering::leave_bias_to_first(const Op& op, std::vector<std::pair<Range, Access>>& operands) const {
  if (slice_ == 0 || op.kind == OpKind::kLinearBackwardInput || cut_of_product(op) != TensorCut::kInputs) return;
  if (graph_.at(op.operands[kBias].tensor).kind == TensorKind::kParameter) operands.erase(operands.begin() + kBias);
}

bool RankLowering::is_term(const Op& op) const {
  if (job_.tensor == 1) return false;
  if (op.kind == OpKind::kLinear) return cut_of_product(op) == TensorCut::kInputs;
  if (op.kind == OpKind::kLinearBackwardInput) return cut_of_product(op) == TensorCut::kOutputs;
  return ends_mixture(op.kind);
}

/// Outputs where inputs are cut, on the way forward; gradients of inputs where outputs are, on the way back. Weights' gradients,
/// which come next there, do not wait for it. Of a mixture tokens' sums, which are fewer than experts' rows; and on the way back
/// first the gates' gradients, whose terms are of the slices' outputs.
void RankLowering::sum_over_slices(const Op& op, const Range& product, std::uint32_t micro_batch) {
  if (!is_term(op)) return;
  if (job_.sequence_parallel) return scatter_rows(op, product, micro_batch);
  const Exchange exchange = among_slices(ExchangeKind::kAllReduce, graph_.at(op.operands.back().tensor).dtype);
  const std::int64_t elements = product.bytes.count / size_of(exchange.dtype);
  out_.begin_segment("sum over slices", global(entered_.micro_batch), op.block);
  out_.exchange(queue_named("slices"), exchange,
                {{product, Access::kReadWrite}, workspace_of(elements, exchange.dtype, job_.tensor)});
  go_on();
}

}  // namespace plimsoll
