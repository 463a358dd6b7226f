#include "executor/kernels/update_operands.h"

// Updates whose rate is the tensor's own: the longer its weights, the longer its step. Tensors that do not decay (norms and
// biases: shape.variant is 0) take the learning rate as it is.
namespace plimsoll::kernels {
namespace {

/// ‖weights‖ / ‖direction‖; 1 when either is 0.
double ratio_of(double weights, double direction) { return weights > 0 && direction > 0 ? weights / direction : 1; }

}  // namespace

/// LAMB (You et al. 2020, algorithm 2) with φ the identity.
template <typename S>
void lamb(const OpShape& s, Operands operands, const LaunchContext& context) {
  using T = Arithmetic<S>;
  const std::int64_t elements = s.rows * s.inputs;
  const UpdateOperands<S> u = update_operands<S>(operands, 2, elements);
  const bool decays = s.variant != 0;
  UpdateStep<T> step = update_step<T>(context, u.factor);
  step.step_size = static_cast<T>(1 / (1 - std::pow(context.recipe->beta1, static_cast<double>(updates_before(context) + 1))));
  if (!decays) step = without_decay(step);
  const auto [weights, directions] = sum_ranges<2>(elements, kSumElements, *context.pool, [&](Range r, Sums<2>& sums) {
    for_pieces<S>(r.begin, r.end, [&](std::int64_t at, std::int64_t n) {
      PieceScratch<S> scratch;
      Sums<2> of_piece{};
      loops<T>().lamb_moments(n, step, u.gradient.read(at, n, scratch), u.weights + at, u.state(0) + at, u.state(1) + at,
                              u.new_state(0) + at, u.new_state(1) + at, of_piece.data());
      for (std::size_t i = 0; i < 2; ++i) sums[i] += of_piece[i];
    });
  });
  const double rate = learning_rate_at(*context.recipe, context.step);
  step.rate = static_cast<T>(decays ? rate * ratio_of(std::sqrt(weights), std::sqrt(directions)) : rate);
  update_pieces<S>(elements, elements, step, *context.pool, [&](std::int64_t at, std::int64_t n, const UpdateStep<T>& now) {
    loops<T>().lamb_weights(n, now, u.weights + at, u.new_state(0) + at, u.new_state(1) + at, u.new_weights + at);
    u.publish(at, n, u.new_weights + at);
  });
}

/// LARS (You, Gitman and Ginsburg 2017, algorithm 1).
template <typename S>
void lars(const OpShape& s, Operands operands, const LaunchContext& context) {
  using T = Arithmetic<S>;
  const std::int64_t elements = s.rows * s.inputs;
  const UpdateOperands<S> u = update_operands<S>(operands, 1, elements);
  UpdateStep<T> step = update_step<T>(context, u.factor);
  if (s.variant == 0) {
    step = without_decay(step);
  } else {
    const auto [weights, gradients] = sum_ranges<2>(elements, kSumElements, *context.pool, [&](Range r, Sums<2>& sums) {
      sums = {squares_of(u.weights, r.begin, r.end), squares_of(u.gradient, r.begin, r.end)};
    });
    const double norm = std::sqrt(weights), gradient = std::sqrt(gradients) * u.factor;
    const double local = norm > 0 && gradient > 0
                             ? context.recipe->trust * ratio_of(norm, gradient + context.recipe->weight_decay * norm)
                             : 1;
    step.rate = static_cast<T>(learning_rate_at(*context.recipe, context.step) * local);
  }
  update_pieces<S>(elements, elements, step, *context.pool, [&](std::int64_t at, std::int64_t n, const UpdateStep<T>& now) {
    PieceScratch<S> scratch;
    loops<T>().lars(n, now, u.gradient.read(at, n, scratch), u.weights + at, u.state(0) + at, u.new_weights + at,
                    u.new_state(0) + at);
    u.publish(at, n, u.new_weights + at);
  });
}

PLIMSOLL_INSTANTIATE_HALF_KERNEL(lamb);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(lars);

}  // namespace plimsoll::kernels
