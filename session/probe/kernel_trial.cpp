#include "session/probe/kernel_trial.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <set>

#include "executor/data/counter_random.h"
#include "executor/kernels/half_types.h"
#include "formats/models/half_floats.h"

namespace plimsoll {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr std::int64_t kDrawn = 1 << 16;
constexpr std::int64_t kMostCopies = 64;
constexpr std::int64_t kAlignment = 64;

/// N(0, 1) by Box and Muller; repeated over larger operands, which no kernel can notice.
const std::vector<double>& normal_numbers() {
  static const std::vector<double> numbers = [] {
    std::vector<double> drawn(kDrawn);
    for (std::uint64_t i = 0; i < drawn.size(); ++i) {
      const double radius = std::sqrt(-2.0 * std::log1p(-to_unit(random_at(kSeed, 2 * i))));
      drawn[i] = radius * std::cos(2.0 * std::numbers::pi * to_unit(random_at(kSeed, 2 * i + 1)));
    }
    return drawn;
  }();
  return numbers;
}

void put(double number, Bf16& to) { to.bits = bf16_from_float(static_cast<float>(number)); }
void put(double number, Fp16& to) { to.bits = fp16_from_float(static_cast<float>(number)); }
template <typename T>
void put(double number, T& to) {
  to = static_cast<T>(number);
}

template <typename T>
void fill_real(std::byte* to, const Tensor& tensor) {
  const auto& numbers = normal_numbers();
  const bool positive = tensor.kind == TensorKind::kSecondMoment;
  T* values = reinterpret_cast<T*>(to);
  for (std::int64_t i = 0; i < tensor.elements; ++i) {
    const double number = numbers[static_cast<std::size_t>(i % kDrawn)];
    put(positive ? std::abs(number) : number, values[i]);
  }
}

void fill_tokens(std::byte* to, const Tensor& tensor, std::int64_t vocabulary) {
  auto* tokens = reinterpret_cast<std::int32_t*>(to);
  for (std::int64_t i = 0; i < tensor.elements; ++i) {
    tokens[i] = static_cast<std::int32_t>(to_range(random_at(kSeed, static_cast<std::uint64_t>(i)), vocabulary));
  }
}

/// Codes whose bytes, read as a scale, are a small positive number.
void fill_codes(std::byte* to, const Tensor& tensor) { std::fill_n(to, tensor.elements, std::byte{0x3c}); }

void fill(std::byte* to, const Tensor& tensor, const Kernel& kernel) {
  if (tensor.dtype == DType::kInt32)
    return fill_tokens(to, tensor, std::max<std::int64_t>(1, kernel.shape.outputs));
  if (tensor.dtype == DType::kUint8) return fill_codes(to, tensor);
  if (tensor.dtype == DType::kFp64) return fill_real<double>(to, tensor);
  if (tensor.dtype == DType::kBf16) return fill_real<Bf16>(to, tensor);
  if (tensor.dtype == DType::kFp16) return fill_real<Fp16>(to, tensor);
  fill_real<float>(to, tensor);
}

std::int64_t aligned(Bytes bytes) { return align_up(bytes, Bytes(kAlignment)).count; }

}  // namespace

std::vector<KernelTrial> trials_of(const Graph& graph) {
  std::vector<KernelTrial> trials;
  std::set<Kernel> known;
  for (const Op& op : graph.ops) {
    KernelTrial trial{.kernel = {op.kind, op.dtype, op.shape}, .tensors = {}, .accesses = {}, .recipe = graph.recipe};
    if (!known.insert(trial.kernel).second) continue;
    for (const Operand& operand : op.operands) {
      trial.tensors.push_back(graph.at(operand.tensor));
      trial.accesses.push_back(operand.access);
    }
    trials.push_back(std::move(trial));
  }
  return trials;
}

KernelOperands::KernelOperands(const KernelTrial& trial, Bytes span) {
  std::int64_t set_bytes = 1;
  for (const Tensor& tensor : trial.tensors) set_bytes += aligned(tensor.bytes());
  copies_ = static_cast<std::size_t>(std::clamp<std::int64_t>(span.count / set_bytes, 1, kMostCopies));
  memory_.resize(static_cast<std::size_t>(set_bytes) * copies_ + kAlignment);
  void* begin = memory_.data();
  std::size_t space = memory_.size();
  auto* at = static_cast<std::byte*>(std::align(kAlignment, 1, begin, space));
  for (std::size_t copy = 0; copy < copies_; ++copy) {
    for (std::size_t i = 0; i < trial.tensors.size(); ++i) {
      const Tensor& tensor = trial.tensors[i];
      fill(at, tensor, trial.kernel);
      views_.push_back({.data = at, .bytes = tensor.bytes(), .access = trial.accesses[i]});
      at += aligned(tensor.bytes());
    }
  }
}

std::span<const OperandView> KernelOperands::next() {
  const std::size_t each = views_.size() / copies_;
  return std::span(views_).subspan(runs_++ % copies_ * each, each);
}

std::vector<double> time_kernel(const KernelTrial& trial, const LaunchContext& context, const TrialOptions& options) {
  KernelOperands operands(trial, options.span);
  LaunchContext own = context;
  own.recipe = &trial.recipe;
  return time_runs([&] { launch(trial.kernel, operands.next(), own); }, options.timing);
}

}  // namespace plimsoll
