#include "core/graph/update_work.h"
#include "executor/kernels/matrix_product.h"
#include "executor/kernels/newton_schulz.h"
#include "executor/kernels/update_operands.h"

// Muon: each matrix's velocity, joined with its gradient, is brought near to the nearest orthogonal matrix by quintic
// Newton–Schulz steps in bf16 (Jordan et al. 2024; numbers, bounds and roundings as torch.optim.Muon has them). The passes over
// elements are plain loops: the products take the time.
namespace plimsoll::kernels {
namespace {

float wide(Bf16 value) {
  float result = 0;
  conversions<Bf16>().widen(1, &value, &result);
  return result;
}

float rounded(double value) {
  const float single = static_cast<float>(value);
  Bf16 half;
  conversions<Bf16>().round(1, &single, &half);
  return wide(half);
}

/// One matrix of the update, and the workspace's three of its size in bf16.
struct HiddenMatrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  Bf16* now = nullptr;   ///< X over all that it was not yet multiplied with, `scale`
  Bf16* next = nullptr;  ///< the gram matrix, then the next X
  Bf16* polynomial = nullptr;
  double scale = 1;

  [[nodiscard]] std::int64_t elements() const { return rows * columns; }
  [[nodiscard]] std::int64_t shorter() const { return std::min(rows, columns); }
  [[nodiscard]] bool tall() const { return rows > columns; }
};

/// Moves the velocity and leaves in `now`, in bf16, what is to be orthogonalized: the gradient and the new velocity, mixed.
template <typename S, typename W>
void join_velocity(const UpdateOperands<S, W>& u, std::int64_t first, const HiddenMatrix& x, double momentum, WorkerPool& pool) {
  using T = Arithmetic<S>;
  const T keep = static_cast<T>(momentum), add = static_cast<T>(1 - momentum), factor = static_cast<T>(u.factor);
  pool.run(range_count(x.elements(), kSumElements), [&](std::int64_t task, std::int64_t) {
    const Range r = range_at(task, x.elements(), kSumElements);
    float joined[kPiece];
    for (std::int64_t at = r.begin; at < r.end; at += kPiece) {
      const std::int64_t n = std::min(kPiece, r.end - at);
      PieceScratch<S> of_gradient;
      PieceScratch<W> of_velocity;
      const T* gradient = u.gradient.read(first + at, n, of_gradient);
      T* moved = opened(n, u.new_state(0) + first + at, of_velocity.values);
      const T* velocity = widened(n, u.state(0) + first + at, of_velocity.values);
      for (std::int64_t i = 0; i < n; ++i) {
        const T g = gradient[i] * factor;
        moved[i] = keep * velocity[i] + add * g;
        joined[i] = static_cast<float>(add * g + keep * moved[i]);
      }
      store(n, moved, u.new_state(0) + first + at);
      conversions<Bf16>().round(n, joined, x.now + at);
    }
  });
}

/// Divides by the norm, after which no singular value is above 1.
void normalize(const HiddenMatrix& x, WorkerPool& pool) {
  const double squares = sum_ranges<1>(x.elements(), kSumElements, pool, [&](Range r, Sums<1>& sums) {
    sums[0] = squares_of(x.now, r.begin, r.end);
  })[0];
  const float norm = std::max(rounded(std::sqrt(squares)), rounded(kLeastMatrixNorm));
  pool.run(range_count(x.elements(), kSumElements), [&](std::int64_t task, std::int64_t) {
    const Range r = range_at(task, x.elements(), kSumElements);
    for_pieces<Bf16>(r.begin, r.end, [&](std::int64_t at, std::int64_t n) {
      PieceScratch<Bf16> scratch;
      conversions<Bf16>().widen(n, x.now + at, scratch.values);
      for (std::int64_t i = 0; i < n; ++i) scratch.values[i] /= norm;
      conversions<Bf16>().round(n, scratch.values, x.now + at);
    });
  });
}

/// One quintic step over the shorter side. Every matrix is rounded once: a sum is a product added to what its place holds, so
/// the polynomial stands there over b, and the next X over a, which `scale` remembers.
void step(HiddenMatrix& x, const LaunchContext& context) {
  const std::int64_t m = x.shorter(), n = x.columns;
  const auto multiply = [&](const Product<Bf16>& product) { tiled_product(*context.pool, *context.product, product); };
  Bf16* gram = x.next;
  multiply({.rows = m, .columns = m, .depth = x.elements() / m, .a = {x.now, n, x.tall()}, .b = {x.now, n, !x.tall()}, .c = gram,
            .c_stride = m, .factor = x.scale * x.scale});
  std::copy_n(gram, m * m, x.polynomial);
  multiply({.rows = m, .columns = m, .depth = m, .a = {gram, m}, .b = {gram, m}, .c = x.polynomial, .c_stride = m, .adds = true,
            .factor = kFifthCoefficient / kThirdCoefficient});
  std::copy_n(x.now, x.elements(), x.next);
  const MatrixView<Bf16> whole{x.now, n}, square{x.polynomial, m};
  multiply({.rows = x.rows, .columns = n, .depth = m, .a = x.tall() ? whole : square, .b = x.tall() ? square : whole, .c = x.next,
            .c_stride = n, .adds = true, .factor = kThirdCoefficient / kFirstCoefficient});
  std::swap(x.now, x.next);
  x.scale *= kFirstCoefficient;
}

template <typename S, typename W>
void move_weights(const UpdateOperands<S, W>& u, std::int64_t first, const HiddenMatrix& x, Arithmetic<S> keep, double rate,
                  WorkerPool& pool) {
  using T = Arithmetic<S>;
  const T by = static_cast<T>(rate * x.scale);
  pool.run(range_count(x.elements(), kSumElements), [&](std::int64_t task, std::int64_t) {
    const Range r = range_at(task, x.elements(), kSumElements);
    for_pieces<Bf16>(r.begin, r.end, [&](std::int64_t at, std::int64_t n) {
      PieceScratch<Bf16> scratch;
      const float* direction = widened(n, x.now + at, scratch.values);
      PieceScratch<W> of_weights;
      T* moved = opened(n, u.new_weights + first + at, of_weights.values);
      const T* weights = widened(n, u.weights + first + at, of_weights.values);
      for (std::int64_t i = 0; i < n; ++i) moved[i] = keep * weights[i] - by * static_cast<T>(direction[i]);
      store(n, moved, u.new_weights + first + at);
      u.publish(first + at, n, moved);
    });
  });
}

/// Weights and velocity are stored as W.
template <typename S, typename W>
void update_matrices(const OpShape& s, Operands operands, const LaunchContext& context) {
  const UpdateOperands<S, W> u = update_operands<S, W>(operands, 1, s.rows * s.inputs, true);
  const auto numbers = update_step<Arithmetic<S>>(context, u.factor);
  const std::int64_t rows = s.rows / s.terms, elements = rows * s.inputs;
  const double tall = std::max(1.0, static_cast<double>(rows) / static_cast<double>(s.inputs));
  const double rate = learning_rate_at(*context.recipe, context.step) * std::sqrt(tall);
  auto* room = reinterpret_cast<Bf16*>(u.workspace);
  for (std::int64_t matrix = 0; matrix < s.terms; ++matrix) {
    HiddenMatrix x{.rows = rows, .columns = s.inputs, .now = room, .next = room + elements, .polynomial = room + 2 * elements};
    join_velocity(u, matrix * elements, x, context.recipe->momentum, *context.pool);
    normalize(x, *context.pool);
    for (std::int64_t i = 0; i < kNewtonSchulzSteps; ++i) step(x, context);
    move_weights(u, matrix * elements, x, numbers.keep, rate, *context.pool);
  }
}

}  // namespace

/// Of a tensor of `terms` matrices, one after another (of experts), each by itself.
template <typename S>
void muon(const OpShape& s, Operands operands, const LaunchContext& context) {
  const bool wide = operands[0].bytes.count == s.rows * s.inputs * static_cast<std::int64_t>(sizeof(Arithmetic<S>));
  wide ? update_matrices<S, Arithmetic<S>>(s, operands, context) : update_matrices<S, S>(s, operands, context);
}

PLIMSOLL_INSTANTIATE_HALF_KERNEL(muon);

}  // namespace plimsoll::kernels
