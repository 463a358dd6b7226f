#pragma once

#include <algorithm>

#include "executor/cuda/kernels/cross_entropy.h"
#include "executor/cuda/launch/device_launch.h"

namespace plimsoll::cuda {

/// As the CPU's kernel: of tokens that do not all count, the divisors are such that the mean over a step's micro-batches is the
/// mean over the targets that count in the step.
inline LossTargets loss_targets(const DeviceLaunch& l, const std::int64_t* counted) {
  const OpShape& s = l.shape();
  const bool labels = s.variant == static_cast<std::uint8_t>(TargetKind::kLabel);
  const auto rows = static_cast<double>(s.inputs > 0 ? s.inputs : s.rows);  // of the micro-batch, of which these may be a part
  const std::int64_t targets = std::max<std::int64_t>(1, l.context.targets.value_or(s.terms));
  const double divisor = l.context.targets ? static_cast<double>(targets) / (static_cast<double>(s.terms) / rows) : rows;
  const double terms = static_cast<double>(labels ? std::max<std::int64_t>(1, s.terms / s.rows) : targets);
  return {.sequence = s.sequence,
          .values = l.at<const std::int32_t>(1),
          .labels = labels,
          .counted = counted,
          .divisor = divisor,
          .terms = terms};
}

/// Scratch: the number of labels, then each row's loss, then whether its answer is right.
template <typename S, typename Launcher>
bool launch_loss(Launcher& launcher, const DeviceLaunch& l) {
  const bool backward = l.kernel.kind == OpKind::kCrossEntropy;
  if (!backward && l.kernel.kind != OpKind::kLoss) return false;
  const OpShape& s = l.shape();
  auto* counted = reinterpret_cast<std::int64_t*>(l.scratch);
  auto* losses = reinterpret_cast<double*>(l.scratch) + 1;
  const bool answers = !backward && l.operands.size() > 3;
  const Index stride = s.stride > 0 ? s.stride : s.outputs;
  const LossRowsArgs<S> args{.rows = s.rows,
                             .width = s.outputs,
                             .stride = stride,
                             .logits = l.at<S>(0),
                             .targets = loss_targets(l, counted),
                             .scale = backward && l.operands.size() > 3 ? l.at<const double>(2) + 3 : nullptr,
                             .backward = backward,
                             .packed = are_packed(stride, stride, l.at<S>(0)),
                             .losses = losses,
                             .right = answers ? losses + s.rows : nullptr};
  if (args.targets.labels) launcher.template run<CountLabels>({s.rows, args.targets.values, counted});
  launcher.template run<LossRows<S>>(args);
  const std::size_t mean = backward ? l.operands.size() - 1 : 2;
  launcher.template run<MeanOfRows>({s.rows, losses, args.targets, l.at<double>(mean), l.adds(mean)});
  if (answers) launcher.template run<MeanOfRows>({s.rows, args.right, args.targets, l.at<double>(3), false});
  return true;
}

}  // namespace plimsoll::cuda
