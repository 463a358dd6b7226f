#pragma once

#include <cmath>
#include <utility>

#include "core/graph/update_work.h"
#include "executor/cuda/kernels/muon.h"
#include "executor/cuda/kernels/product.h"
#include "executor/cuda/kernels/squared_norm.h"
#include "executor/cuda/launch/device_launch.h"
#include "executor/cuda/launch/update_places.h"

namespace plimsoll::cuda {

/// One matrix of the update and the workspace's three of its size in bf16, as the CPU's kernel has them.
struct HiddenMatrix {
  Index rows = 0, columns = 0;
  Bf16* now = nullptr;   ///< X over all that it was not yet multiplied with, `scale`
  Bf16* next = nullptr;  ///< the gram matrix, then the next X
  Bf16* polynomial = nullptr;
  double scale = 1;

  [[nodiscard]] Index elements() const { return rows * columns; }
  [[nodiscard]] Index shorter() const { return rows < columns ? rows : columns; }
  [[nodiscard]] bool tall() const { return rows > columns; }
};

/// One quintic step over the shorter side: the polynomial stands over b, the next X over a, which `scale` remembers.
template <typename Launcher>
void newton_schulz_step(Launcher& launcher, HiddenMatrix& x) {
  const Index m = x.shorter(), n = x.columns;
  Bf16* gram = x.next;
  launcher.multiply_anyway(ProductArgs<Bf16>{.rows = m, .columns = m, .depth = x.elements() / m,
                                             .a = x.now, .a_stride = n, .a_transposed = x.tall(),
                                             .b = x.now, .b_stride = n, .b_transposed = !x.tall(),
                                             .c = gram, .c_stride = m, .factor = static_cast<float>(x.scale * x.scale)});
  for_each(launcher, m * m, CopyElements{gram, x.polynomial});
  launcher.multiply_anyway(ProductArgs<Bf16>{.rows = m, .columns = m, .depth = m,
                                             .a = gram, .a_stride = m, .a_transposed = false,
                                             .b = gram, .b_stride = m, .b_transposed = false,
                                             .c = x.polynomial, .c_stride = m, .adds = true,
                                             .factor = static_cast<float>(kFifthCoefficient / kThirdCoefficient)});
  for_each(launcher, x.elements(), CopyElements{x.now, x.next});
  launcher.multiply_anyway(ProductArgs<Bf16>{.rows = x.rows, .columns = n, .depth = m,
                                             .a = x.tall() ? x.now : x.polynomial, .a_stride = x.tall() ? n : m, .a_transposed = false,
                                             .b = x.tall() ? x.polynomial : x.now, .b_stride = x.tall() ? m : n, .b_transposed = false,
                                             .c = x.next, .c_stride = n, .adds = true,
                                             .factor = static_cast<float>(kThirdCoefficient / kFirstCoefficient)});
  std::swap(x.now, x.next);
  x.scale *= kFirstCoefficient;
}

template <typename Launcher>
void orthogonalize(Launcher& launcher, const DeviceLaunch& l, HiddenMatrix& x) {
  auto* sums = reinterpret_cast<double*>(l.scratch);
  launcher.template run<SquareSums<Bf16>>({x.elements(), x.now, sums});
  double* squares = sums + kMostSquareBlocks;
  for_each(launcher, 1, SumInOrder{sums, parts_of(x.elements(), squares_of_block(x.elements())), squares});
  for_each(launcher, x.elements(), DivideByNorm{squares, x.now});
  for (std::int64_t i = 0; i < kNewtonSchulzSteps; ++i) newton_schulz_step(launcher, x);
}

/// Gradients G, kept weights and velocity W, published weights S. Of experts one matrix after another.
template <typename G, typename W, typename S, typename Launcher>
void launch_muon_of(Launcher& launcher, const DeviceLaunch& l, const UpdatePlaces& at) {
  const OpShape& s = l.shape();
  const Recipe& recipe = *l.context.recipe;
  const Index rows = s.rows / s.terms, elements = rows * s.inputs;
  const MuonNumbers numbers{.momentum = static_cast<float>(recipe.momentum), .direct = static_cast<float>(1 - recipe.momentum),
                            .keep = update_numbers(l.context).keep,
                            .skips = scales_loss(recipe.precision), .factor = reinterpret_cast<const double*>(at.factor)};
  const double tall = rows > s.inputs ? static_cast<double>(rows) / static_cast<double>(s.inputs) : 1;
  const double rate = learning_rate_at(recipe, l.context.step) * std::sqrt(tall);
  auto* room = reinterpret_cast<Bf16*>(at.workspace);
  for (Index first = 0; first < s.terms * elements; first += elements) {
    HiddenMatrix x{.rows = rows, .columns = s.inputs, .now = room, .next = room + elements, .polynomial = room + 2 * elements};
    for_each(launcher, elements,
             JoinVelocity<G, W>{numbers, reinterpret_cast<const G*>(at.gradient) + first, reinterpret_cast<const W*>(at.states[0]) + first,
                                reinterpret_cast<W*>(at.new_states[0]) + first, x.now});
    orthogonalize(launcher, l, x);
    S* published = at.published == nullptr ? nullptr : reinterpret_cast<S*>(at.published) + first;
    for_each(launcher, elements,
             MoveWeights<W, S>{numbers, static_cast<float>(rate * x.scale), x.now, reinterpret_cast<const W*>(at.weights) + first,
                               reinterpret_cast<W*>(at.new_weights) + first, published});
  }
}

/// Gradients are stored as S or summed in fp32, kept weights and velocity are fp32 or of S.
template <typename S, typename Launcher>
void launch_muon(Launcher& launcher, const DeviceLaunch& l) {
  const UpdatePlaces at = update_places(l.operands, 1, true);
  const Index fp32 = l.shape().rows * l.shape().inputs * 4;
  const bool wide_weights = l.operands[0].bytes.count == fp32, summed = l.operands[2].bytes.count == fp32;
  if (wide_weights && summed) return launch_muon_of<float, float, S>(launcher, l, at);
  if (wide_weights) return launch_muon_of<S, float, S>(launcher, l, at);
  if (summed) return launch_muon_of<float, S, S>(launcher, l, at);
  launch_muon_of<S, S, S>(launcher, l, at);
}

/// False: the kernel is of another kind.
template <typename S, typename Launcher>
bool launch_matrix_update(Launcher& launcher, const DeviceLaunch& l) {
  if (l.kernel.kind != OpKind::kMuon) return false;
  launch_muon<S>(launcher, l);
  return true;
}

}  // namespace plimsoll::cuda
