#include "sim/stack/projected_update.h"

#include <algorithm>

namespace plimsoll {
namespace {

struct Sides {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t rank = 0;

  [[nodiscard]] bool tall() const { return rows >= columns; }
  [[nodiscard]] std::int64_t shorter() const { return std::min(rows, columns); }
};

Sides sides_of(const Shape& matrix, const OptimizerForm& form) {
  const std::int64_t shorter = std::min(matrix[0], matrix[1]);
  // A decomposition has no more vectors than that; random numbers have as many as are asked for.
  const bool bounded = form.projection == GradientProjection::kGalore;
  return {.rows = matrix[0], .columns = matrix[1], .rank = bounded ? std::min(form.rank, shorter) : form.rank};
}

void stream_optimizer(Tape& tape, double bytes) { tape.launch({.sort = StackKernelSort::kOptimizer, .dtype = DType::kFp32, .bytes = bytes}); }

/// torch.linalg.svd of the gradient in fp32, and the rows or columns of it that are kept. The library's own workspace is not known.
void decompose(Tape& tape, const Tensor& gradient, const Sides& s) {
  const Tensor single = gradient.dtype == DType::kFp32 ? Tensor{} : tape.empty(gradient.shape, DType::kFp32);
  Tensor u, v, values;
  {
    const Tensor overwritten = tape.empty(gradient.shape, DType::kFp32);
    u = tape.empty({s.rows, s.shorter()}, DType::kFp32);
    values = tape.empty({s.shorter()}, DType::kFp32);
    v = tape.empty({s.shorter(), s.columns}, DType::kFp32);
  }
  const Tensor diagonal = tape.empty({s.rank, s.rank}, DType::kFp32);
  const Tensor scaled = tape.empty(s.tall() ? Shape{s.rows, s.rank} : Shape{s.rank, s.columns}, DType::kFp32);
}

/// What one step bears of making a projector.
void launch_projector(Tape& tape, const OptimizerForm& form, const Sides& s) {
  if (form.projection != GradientProjection::kGalore) return;
  const double flops = decomposition_flops(s.rows, s.columns) / static_cast<double>(form.every);
  tape.launch({.sort = StackKernelSort::kProduct, .phase = tape.phase(), .dtype = DType::kFp32, .again = true, .flops = flops});
}

/// The step of full size: projected back and scaled (GaLore), or the gradient scaled and bounded (APOLLO).
void launch_way_back(Tape& tape, const Parameter& parameter, const OptimizerForm& form, const Sides& s) {
  const DType dtype = parameter.value.dtype;
  const Tensor first = tape.empty(parameter.value.shape, dtype);
  if (form.projection == GradientProjection::kGalore) tape.product(1, s.rows, s.columns, s.rank, dtype);
  const Tensor second = tape.empty(parameter.value.shape, dtype);
  // A pass each for the factor and the step, which reads and writes the weights; APOLLO takes two norms.
  const double passes = form.projection == GradientProjection::kGalore ? 5 : 8;
  stream_optimizer(tape, passes * traffic(parameter.value));
}

}  // namespace

bool is_projected(const Parameter& parameter, const OptimizerForm& form) {
  return form.projects() && parameter.hidden_matrices > 0 && parameter.value.shape.size() == 2;
}

Shape projector_shape(const Shape& matrix, const OptimizerForm& form) {
  const Sides s = sides_of(matrix, form);
  return s.tall() ? Shape{s.rank, s.columns} : Shape{s.rows, s.rank};
}

Shape projected_shape(const Shape& matrix, const OptimizerForm& form) {
  const Sides s = sides_of(matrix, form);
  return s.tall() ? Shape{s.rows, s.rank} : Shape{s.rank, s.columns};
}

double decomposition_flops(std::int64_t rows, std::int64_t columns) {
  const auto m = static_cast<double>(std::max(rows, columns)), n = static_cast<double>(std::min(rows, columns));
  return std::min(14 * m * n * n + 8 * n * n * n, 6 * m * n * n + 20 * n * n * n);
}

void update_projected(Tape& tape, Parameter& parameter, OptimizerKind rule, const std::function<void()>& make_states) {
  const OptimizerForm& form = tape.options().optimizer_form;
  const Sides s = sides_of(parameter.value.shape, form);
  const DType dtype = parameter.gradient.dtype;
  if (parameter.states.empty() && form.projection == GradientProjection::kGalore) decompose(tape, parameter.gradient, s);
  launch_projector(tape, form, s);
  if (parameter.states.empty()) parameter.states.push_back(tape.empty(projector_shape(parameter.value.shape, form), dtype, Holding::kOptimizer));
  const Tensor seen = tape.empty(projected_shape(parameter.value.shape, form), dtype);
  tape.product(1, s.rows, s.rank, s.columns, dtype);
  make_states();
  double bytes = traffic(seen);
  for (const Tensor& state : parameter.states) bytes += 2 * traffic(state);
  if (rule == OptimizerKind::kAdam8bit) {
    // The weights wait beside a small tensor of zeros into which bitsandbytes' kernel writes its step. GaLore puts what it sees in
    // the gradient's place; APOLLO scales the gradient itself.
    const Tensor saved = tape.empty(parameter.value.shape, parameter.value.dtype);
    const Tensor step = tape.empty(seen.shape, dtype);
    if (form.projection == GradientProjection::kGalore) parameter.gradient = seen;
    stream_optimizer(tape, bytes + 2 * traffic(saved));
    return launch_way_back(tape, parameter, form, s);
  }
  const Tensor root = tape.empty(seen.shape, dtype), step = tape.empty(seen.shape, dtype);
  stream_optimizer(tape, bytes + 6 * traffic(seen));
  launch_way_back(tape, parameter, form, s);
}

}  // namespace plimsoll
