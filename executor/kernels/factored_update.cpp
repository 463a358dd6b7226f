#include "executor/kernels/update_operands.h"

// Updates that keep of a matrix's squared gradients one number a row and one a column. A state holds the rows' numbers, then
// the columns'; of a vector, one number an element.
namespace plimsoll::kernels {
namespace {

constexpr std::int64_t kStrip = 256;  // columns of one task

/// A task takes as many whole rows as make up the least elements of one.
std::int64_t rows_of_task(const OpShape& s) { return std::max<std::int64_t>(1, kSumElements / s.inputs); }

/// Calls `work(rows)` for ranges of rows that cover the matrix.
template <typename Work>
void for_rows(const OpShape& s, WorkerPool& pool, const Work& work) {
  const std::int64_t step = rows_of_task(s);
  pool.run(range_count(s.rows, step), [&](std::int64_t task, std::int64_t) { work(range_at(task, s.rows, step)); });
}

/// Calls `work(columns)` for strips of columns.
template <typename Work>
void for_strips(const OpShape& s, WorkerPool& pool, const Work& work) {
  pool.run(range_count(s.inputs, kStrip), [&](std::int64_t task, std::int64_t) { work(range_at(task, s.inputs, kStrip)); });
}

double squared(double x) { return x * x; }

/// Calls `work(gradient, at, n)` for pieces of one row's columns [begin, end), `at` counted from the row's start.
template <typename S, typename Work>
void for_gradient(const OpShape& s, const Gradient<S>& gradient, std::int64_t row, Range columns, const Work& work) {
  for_pieces<S>(columns.begin, columns.end, [&](std::int64_t at, std::int64_t n) {
    PieceScratch<S> scratch;
    work(gradient.read(row * s.inputs + at, n, scratch), at, n);
  });
}

/// Moves the means of squares of rows and columns by the step's decay, and returns the mean over the rows' means.
template <typename S>
double average_factors(const OpShape& s, const UpdateOperands<S>& u, double decay, WorkerPool& pool) {
  using T = Arithmetic<S>;
  const double factor = squared(u.factor);
  const auto mix = [&](T old, double sum, std::int64_t count) {
    return static_cast<T>(decay * static_cast<double>(old) + (1 - decay) * (sum * factor / static_cast<double>(count)));
  };
  const T *rows = u.state(0), *columns = rows + s.rows;
  T *new_rows = u.new_state(0), *new_columns = new_rows + s.rows;
  for_rows(s, pool, [&](Range r) {
    for (std::int64_t row = r.begin; row < r.end; ++row) {
      new_rows[row] = mix(rows[row], squares_of(u.gradient, row * s.inputs, (row + 1) * s.inputs), s.inputs);
    }
  });
  for_strips(s, pool, [&](Range r) {
    std::array<double, kStrip> sums{};
    for (std::int64_t row = 0; row < s.rows; ++row) {
      for_gradient(s, u.gradient, row, r, [&](const T* gradient, std::int64_t at, std::int64_t n) {
        loops<T>().add_squares(n, gradient, sums.data() + (at - r.begin));
      });
    }
    for (std::int64_t c = r.begin; c < r.end; ++c) {
      new_columns[c] = mix(columns[c], sums[static_cast<std::size_t>(c - r.begin)], s.rows);
    }
  });
  double mean = 0;
  for (std::int64_t row = 0; row < s.rows; ++row) mean += static_cast<double>(new_rows[row]);
  return mean / static_cast<double>(s.rows);
}

/// By what Adafactor scales gradients: the columns' means, and of a matrix its rows' too.
template <typename S>
struct FactoredMeans {
  using T = Arithmetic<S>;

  const T* columns = nullptr;
  const T* rows = nullptr;  ///< null of a vector
  double mean = 1;          ///< over the rows' means

  [[nodiscard]] T scale_of(std::int64_t row) const {
    return rows == nullptr ? T(1) : static_cast<T>(static_cast<double>(rows[row]) / mean);
  }
};

/// The means after this step's gradients.
template <typename S>
FactoredMeans<S> move_means(const OpShape& s, const UpdateOperands<S>& u, const UpdateStep<Arithmetic<S>>& step, double decay,
                            const LaunchContext& context) {
  using T = Arithmetic<S>;
  if (s.rows > 1) {
    const double mean = std::max(average_factors(s, u, decay, *context.pool), context.recipe->epsilon);
    return {.columns = u.new_state(0) + s.rows, .rows = u.new_state(0), .mean = mean};
  }
  for_gradient(s, u.gradient, 0, {0, s.inputs}, [&](const T* gradient, std::int64_t at, std::int64_t n) {
    loops<T>().average_squares(n, step, gradient, u.state(0) + at, u.new_state(0) + at);
  });
  return {.columns = u.new_state(0)};
}

/// Squares of the scaled gradients, and of the weights.
template <typename S>
Sums<2> sum_squares(const OpShape& s, const UpdateOperands<S>& u, const UpdateStep<Arithmetic<S>>& step,
                    const FactoredMeans<S>& means, WorkerPool& pool) {
  using T = Arithmetic<S>;
  return sum_ranges<2>(s.rows, rows_of_task(s), pool, [&](Range r, Sums<2>& sums) {
    for (std::int64_t row = r.begin; row < r.end; ++row) {
      for_gradient(s, u.gradient, row, {0, s.inputs}, [&](const T* gradient, std::int64_t at, std::int64_t n) {
        sums[0] += loops<T>().factored_sum(n, step, means.scale_of(row), gradient, means.columns + at);
      });
      sums[1] += squares_of(u.weights, row * s.inputs, (row + 1) * s.inputs);
    }
  });
}

/// The rate of update number `t`, of a tensor of so many elements; PyTorch's constants.
double adafactor_rate(const Recipe& recipe, std::int64_t step, double t, const Sums<2>& squares, double elements) {
  constexpr double kLeastScale = 1e-3, kClipThreshold = 1;
  const auto [directions, weights] = squares;
  const double rate = learning_rate_at(recipe, step);
  const double relative = std::max(kLeastScale, std::sqrt(weights / elements)) * std::min(rate, 1 / std::sqrt(t));
  const double shrink = std::max(1.0, std::sqrt(directions / elements) / kClipThreshold);
  return (recipe.relative_step ? relative : rate) / shrink;
}

template <typename S>
void write_factored_weights(const OpShape& s, const UpdateOperands<S>& u, const UpdateStep<Arithmetic<S>>& step,
                            const FactoredMeans<S>& means, WorkerPool& pool) {
  using T = Arithmetic<S>;
  for_rows(s, pool, [&](Range r) {
    for (std::int64_t row = r.begin; row < r.end; ++row) {
      for_gradient(s, u.gradient, row, {0, s.inputs}, [&](const T* gradient, std::int64_t at, std::int64_t n) {
        const std::int64_t place = row * s.inputs + at;
        loops<T>().factored_weights(n, step, means.scale_of(row), gradient, means.columns + at, u.weights + place,
                                    u.new_weights + place);
        u.publish(place, n, u.new_weights + place);
      });
    }
  });
}

}  // namespace

/// Adafactor (Shazeer and Stern 2018, algorithms 4 and 5) without momentum, with the constants that PyTorch has.
template <typename S>
void adafactor(const OpShape& s, Operands operands, const LaunchContext& context) {
  using T = Arithmetic<S>;
  constexpr double kDecayExponent = -0.8;
  const UpdateOperands<S> u = update_operands<S>(operands, 1, s.rows * s.inputs);
  const double t = static_cast<double>(updates_before(context) + 1), elements = static_cast<double>(s.rows * s.inputs);
  const double decay = 1 - std::pow(t, kDecayExponent);
  UpdateStep<T> step = update_step<T>(context, u.factor);
  if (s.variant == 0) step = without_decay(step);
  step.beta2 = static_cast<T>(decay);
  step.epsilon = static_cast<T>(squared(context.recipe->epsilon));
  const FactoredMeans<S> means = move_means(s, u, step, decay, context);
  const Sums<2> squares = sum_squares(s, u, step, means, *context.pool);
  step.rate = static_cast<T>(adafactor_rate(*context.recipe, context.step, t, squares, elements));
  write_factored_weights(s, u, step, means, *context.pool);
}

namespace {

template <typename S>
void sm3_of_vector(const OpShape& s, const UpdateOperands<S>& u, const UpdateStep<Arithmetic<S>>& step) {
  using T = Arithmetic<S>;
  for_gradient(s, u.gradient, 0, {0, s.inputs}, [&](const T* gradient, std::int64_t at, std::int64_t n) {
    loops<T>().sm3_vector(n, step, gradient, u.state(0) + at, u.weights + at, u.new_state(0) + at, u.new_weights + at);
    u.publish(at, n, u.new_weights + at);
  });
}

/// Moves the weights and leaves the rows' new sums in the workspace.
template <typename S>
void sm3_rows(const OpShape& s, const UpdateOperands<S>& u, const UpdateStep<Arithmetic<S>>& step, WorkerPool& pool) {
  using T = Arithmetic<S>;
  const T *rows = u.state(0), *columns = rows + s.rows;
  T* waiting = reinterpret_cast<T*>(u.workspace);
  for_rows(s, pool, [&](Range r) {
    for (std::int64_t row = r.begin; row < r.end; ++row) {
      waiting[row] = 0;
      for_gradient(s, u.gradient, row, {0, s.inputs}, [&](const T* gradient, std::int64_t at, std::int64_t n) {
        const std::int64_t place = row * s.inputs + at;
        waiting[row] = std::max(waiting[row], loops<T>().sm3_row(n, step, rows[row], gradient, columns + at, u.weights + place,
                                                                 u.new_weights + place));
        u.publish(place, n, u.new_weights + place);
      });
    }
  });
}

}  // namespace

/// SM3-II (Anil et al. 2019, section 3) over rows and columns. The rows' new sums wait in the workspace while the columns
/// still need the old ones.
template <typename S>
void sm3(const OpShape& s, Operands operands, const LaunchContext& context) {
  using T = Arithmetic<S>;
  const UpdateOperands<S> u = update_operands<S>(operands, 1, s.rows * s.inputs, s.rows > 1);
  UpdateStep<T> step = update_step<T>(context, u.factor);
  if (s.variant == 0) step = without_decay(step);
  if (s.rows == 1) return sm3_of_vector(s, u, step);
  sm3_rows(s, u, step, *context.pool);
  const T *rows = u.state(0), *columns = rows + s.rows;
  for_strips(s, *context.pool, [&](Range r) {
    std::array<T, kStrip> most{};
    for (std::int64_t row = 0; row < s.rows; ++row) {
      for_gradient(s, u.gradient, row, r, [&](const T* gradient, std::int64_t at, std::int64_t n) {
        loops<T>().sm3_columns(n, step.factor, rows[row], gradient, columns + at, most.data() + (at - r.begin));
      });
    }
    std::copy_n(most.begin(), r.size(), u.new_state(0) + s.rows + r.begin);
  });
  std::copy_n(reinterpret_cast<const T*>(u.workspace), s.rows, u.new_state(0));
}

PLIMSOLL_INSTANTIATE_HALF_KERNEL(adafactor);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(sm3);

}  // namespace plimsoll::kernels
