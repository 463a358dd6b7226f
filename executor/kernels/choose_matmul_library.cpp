#include "executor/kernels/choose_matmul_library.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <vector>

#include "executor/kernels/blas_room.h"
#include "executor/kernels/matrix_product.h"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

struct Shape {
  std::int64_t rows, columns, depth;
  bool a_transposed, b_transposed;
};

// One output tile of the forward, input-gradient and weight-gradient product of a 768-wide layer, and one attention
// product.
constexpr std::array<Shape, 4> kShapes{{{256, 384, 768, false, true},
                                        {256, 384, 768, false, false},
                                        {256, 384, 1024, true, false},
                                        {64, 512, 64, false, true}}};

void multiply(const MatrixProduct& library, const Product<float>& product) { library.multiply(product); }
template <typename S>
void multiply(const MatrixProduct& library, const Product<S>& product) {
  multiply_half<S>(library, product, nullptr);
}

/// All elements are 0, which no kernel can notice.
template <typename S>
double seconds_of(const MatrixProduct& library, const Shape& shape, std::vector<S>& memory) {
  const std::int64_t a = shape.rows * shape.depth, b = shape.depth * shape.columns;
  const Product<S> product{
      .rows = shape.rows,
      .columns = shape.columns,
      .depth = shape.depth,
      .a = {memory.data(), shape.a_transposed ? shape.rows : shape.depth, shape.a_transposed},
      .b = {memory.data() + a, shape.b_transposed ? shape.depth : shape.columns, shape.b_transposed},
      .c = memory.data() + a + b,
      .c_stride = shape.columns};
  const Clock::time_point start = Clock::now();
  multiply(library, product);
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Operations of all shapes over the sum of their shortest times.
template <typename S>
double rate_of(MatmulLibrary name, double budget_seconds, std::vector<S>& memory) {
  const MatrixProduct library(name);
  std::array<double, kShapes.size()> best{};
  for (std::size_t i = 0; i < kShapes.size(); ++i) best[i] = seconds_of(library, kShapes[i], memory);
  const Clock::time_point start = Clock::now();
  do {
    for (std::size_t i = 0; i < kShapes.size(); ++i)
      best[i] = std::min(best[i], seconds_of(library, kShapes[i], memory));
  } while (std::chrono::duration<double>(Clock::now() - start).count() < budget_seconds);
  double operations = 0, seconds = 0;
  for (std::size_t i = 0; i < kShapes.size(); ++i) {
    operations += 2.0 * static_cast<double>(kShapes[i].rows * kShapes[i].columns * kShapes[i].depth);
    seconds += best[i];
  }
  return operations / seconds * 1e-9;
}

std::size_t elements_needed() {
  std::int64_t most = 0;
  for (const Shape& s : kShapes) most = std::max(most, s.rows * s.depth + s.depth * s.columns + s.rows * s.columns);
  return static_cast<std::size_t>(most);
}

template <typename S>
MatmulChoice try_both_on(std::int64_t milliseconds) {
  std::vector<S> memory(elements_needed(), S{});
  const double budget = static_cast<double>(milliseconds) * 0.5e-3;
  MatmulChoice choice;
  choice.onednn_gflops = rate_of(MatmulLibrary::kOneDnn, budget, memory);
  if (check_blas_room(1)) choice.openblas_gflops = rate_of(MatmulLibrary::kOpenBlas, budget, memory);
  if (choice.openblas_gflops > kClearlyFaster * choice.onednn_gflops) choice.library = MatmulLibrary::kOpenBlas;
  return choice;
}

MatmulChoice try_both(std::int64_t milliseconds, DType dtype) {
  if (dtype == DType::kBf16) return try_both_on<Bf16>(milliseconds);
  if (dtype == DType::kFp16) return try_both_on<Fp16>(milliseconds);
  return try_both_on<float>(milliseconds);
}

/// Tries in a child, and tells through the pipe; never returns.
[[noreturn]] void answer_and_exit(int pipe, std::int64_t milliseconds, DType dtype) {
  try {
    const MatmulChoice choice = try_both(milliseconds, dtype);
    const bool told = ::write(pipe, &choice, sizeof(choice)) == static_cast<ssize_t>(sizeof(choice));
    ::_exit(told ? 0 : 1);
  } catch (...) {  // the parent tries itself, and tells why it cannot
    ::_exit(1);
  }
}

/// What the child told; nothing when it could not.
std::optional<MatmulChoice> answer_of(pid_t child, int pipe) {
  MatmulChoice choice;
  const bool told = ::read(pipe, &choice, sizeof(choice)) == static_cast<ssize_t>(sizeof(choice));
  int status = 0;
  const bool ended = ::waitpid(child, &status, 0) == child && status == 0;
  return told && ended ? std::optional(choice) : std::nullopt;
}

}  // namespace

MatmulChoice choose_matmul_library(std::int64_t milliseconds, DType dtype) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return try_both(milliseconds, dtype);
  const pid_t child = ::fork();
  if (child == 0) answer_and_exit(ends[1], milliseconds, dtype);
  ::close(ends[1]);
  const auto answer = child > 0 ? answer_of(child, ends[0]) : std::nullopt;
  ::close(ends[0]);
  return answer ? *answer : try_both(milliseconds, dtype);
}

}  // namespace plimsoll
