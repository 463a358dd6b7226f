#pragma once

#include "executor/cuda/kernels/squared_norm.h"
#include "executor/cuda/kernels/update.h"
#include "executor/cuda/launch/device_launch.h"
#include "executor/cuda/launch/update_places.h"

namespace plimsoll::cuda {

template <typename Rule, typename G, typename W, typename S, typename Launcher>
void launch_update_of(Launcher& launcher, const DeviceLaunch& l, const UpdatePlaces& at) {
  UpdateGroup<Rule, G, W, S> update{.numbers = update_numbers(l.context), .decaying = l.shape().inputs};
  update.gradient = reinterpret_cast<const G*>(at.gradient);
  update.weights = reinterpret_cast<const W*>(at.weights);
  update.new_weights = reinterpret_cast<W*>(at.new_weights);
  for (int k = 0; k < Rule::kStates; ++k) {
    update.states[k] = reinterpret_cast<const W*>(at.states[k]);
    update.new_states[k] = reinterpret_cast<W*>(at.new_states[k]);
  }
  update.published = reinterpret_cast<S*>(at.published);
  update.factor = reinterpret_cast<const double*>(at.factor);
  if (scales_loss(l.context.recipe->precision)) {
    auto* corrections = reinterpret_cast<UpdateCorrections*>(l.scratch);
    for_each(launcher, 1, CorrectBias{correction_numbers(l.context), update.factor, corrections});
    update.corrections = corrections;
  }
  for_each(launcher, l.shape().rows, update);
}

/// Gradients are stored as S or summed in fp32, kept weights and states are fp32 or of S.
template <typename Rule, typename S, typename Launcher>
void launch_update_rule(Launcher& launcher, const DeviceLaunch& l) {
  const UpdatePlaces at = update_places(l.operands, Rule::kStates);
  const Index fp32 = l.shape().rows * 4;
  const bool wide_weights = l.operands[0].bytes.count == fp32;
  const bool summed = l.operands[Rule::kStates + 1].bytes.count == fp32;
  if (wide_weights && summed) return launch_update_of<Rule, float, float, S>(launcher, l, at);
  if (wide_weights) return launch_update_of<Rule, S, float, S>(launcher, l, at);
  if (summed) return launch_update_of<Rule, float, S, S>(launcher, l, at);
  launch_update_of<Rule, S, S, S>(launcher, l, at);
}

template <typename S, typename Launcher>
void launch_squared_norm(Launcher& launcher, const DeviceLaunch& l) {
  const Index elements = l.shape().rows;
  auto* sums = reinterpret_cast<double*>(l.scratch);
  const Index blocks = parts_of(elements, squares_of_block(elements));
  if (l.operands[0].bytes.count == elements * 4) {
    launcher.template run<SquareSums<float>>({elements, l.at<float>(0), sums});
  } else {
    launcher.template run<SquareSums<S>>({elements, l.at<S>(0), sums});
  }
  for_each(launcher, 1, SumInOrder{sums, blocks, l.at<double>(1)});
}

template <typename Launcher>
void launch_scaled_factor(Launcher& launcher, const DeviceLaunch& l) {
  for_each(launcher, 1, ClipScaled{.partial = l.at<double>(0),
                                   .terms = l.shape().terms,
                                   .clip = l.context.recipe->clip,
                                   .scaling = l.context.recipe->loss_scaling,
                                   .flags_update = l.shape().variant == static_cast<std::uint8_t>(ClipFlag::kUpdate),
                                   .result = l.at<double>(1),
                                   .scale = l.at<LossScale>(2),
                                   .flag = l.operands.size() > 3 ? l.at<double>(3) : nullptr});
}

template <typename Launcher>
void launch_clip_factor(Launcher& launcher, const DeviceLaunch& l) {
  if (l.operands.size() > 2 && l.adds(2)) return launch_scaled_factor(launcher, l);
  for_each(launcher, 1, ClipByNorm{.partial = l.at<double>(0),
                                   .terms = l.shape().terms,
                                   .clip = l.context.recipe->clip,
                                   .factor = l.at<double>(1),
                                   .flag = l.operands.size() > 2 ? l.at<double>(2) : nullptr});
}

/// Norms, clipping and updates. False: the kernel is of another kind.
template <typename S, typename Launcher>
bool launch_update(Launcher& launcher, const DeviceLaunch& l) {
  switch (l.kernel.kind) {
    case OpKind::kSquaredNorm: launch_squared_norm<S>(launcher, l); return true;
    case OpKind::kClipFactor: launch_clip_factor(launcher, l); return true;
    case OpKind::kSgd: launch_update_rule<SgdRule, S>(launcher, l); return true;
    case OpKind::kMomentum: launch_update_rule<MomentumRule, S>(launcher, l); return true;
    case OpKind::kLion: launch_update_rule<LionRule, S>(launcher, l); return true;
    case OpKind::kAdam: launch_update_rule<AdamRule, S>(launcher, l); return true;
    case OpKind::kAdamW: launch_update_rule<AdamWRule, S>(launcher, l); return true;
    default: return false;
  }
}

}  // namespace plimsoll::cuda
