#include "tests/executor/kernels/kernel_case.h"

#include <cmath>
#include <limits>
#include <random>

#include "core/graph/expert_shape.h"
#include "executor/kernels/half_types.h"
#include "executor/kernels/matrix_product.h"
#include "executor/kernels/worker_pool.h"
#include "formats/models/half_floats.h"

namespace plimsoll::test {
namespace {

double draw(std::mt19937& random, Content content, const OpShape& shape) {
  const auto uniform = [&](float low, float high) {
    return static_cast<double>(std::uniform_real_distribution<float>(low, high)(random));
  };
  switch (content) {
    case Content::kReal:
    case Content::kWide:
      return uniform(-1, 1);
    case Content::kPositive:
      return uniform(0.5F, 1.5F);
    case Content::kToken:
      return static_cast<double>(std::uniform_int_distribution<std::int64_t>(0, shape.outputs - 1)(random));
    case Content::kLabel:
      return uniform(0, 1) < 0.25 ? -1 : draw(random, Content::kToken, shape);
    case Content::kExtent:
      return static_cast<double>(std::uniform_int_distribution<std::int64_t>(0, shape.sequence - 1)(random));
    case Content::kDouble:
      return uniform(0, 1);
    case Content::kRouting:
    case Content::kScratch:
      break;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

double widened(Bf16 x) { return static_cast<double>(float_from_bf16(x.bits)); }
double widened(Fp16 x) { return static_cast<double>(float_from_fp16(x.bits)); }
template <typename T>
double widened(T x) {
  return static_cast<double>(x);
}

void round_to(double value, Bf16& out) { out.bits = bf16_from_float(static_cast<float>(value)); }
void round_to(double value, Fp16& out) { out.bits = fp16_from_float(static_cast<float>(value)); }
template <typename T>
void round_to(double value, T& out) {
  out = static_cast<T>(value);
}

template <typename T>
std::vector<std::byte> pack(const std::vector<double>& values) {
  std::vector<T> typed(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) round_to(values[i], typed[i]);
  const auto* bytes = reinterpret_cast<const std::byte*>(typed.data());
  return {bytes, bytes + typed.size() * sizeof(T)};
}

template <typename T>
std::vector<double> unpack(const std::vector<std::byte>& bytes) {
  const T* typed = reinterpret_cast<const T*>(bytes.data());
  std::vector<double> values(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = widened(typed[i]);
  return values;
}

bool is_integer(Content content) {
  return content == Content::kToken || content == Content::kLabel || content == Content::kExtent || content == Content::kRouting;
}

/// S: the case's type; W: the sums'.
template <typename S, typename W>
std::vector<std::byte> pack(Content content, const std::vector<double>& values) {
  if (is_integer(content)) return pack<std::int32_t>(values);
  if (content == Content::kDouble) return pack<double>(values);
  return content == Content::kReal ? pack<S>(values) : pack<W>(values);
}

template <typename S, typename W>
std::vector<double> unpack(Content content, const std::vector<std::byte>& bytes) {
  if (content == Content::kScratch) return {};
  if (is_integer(content)) return unpack<std::int32_t>(bytes);
  if (content == Content::kDouble) return unpack<double>(bytes);
  return content == Content::kReal ? unpack<S>(bytes) : unpack<W>(bytes);
}

/// What a router makes of random logits.
std::vector<double> routing_of(OpShape shape) {
  shape.inputs = 3;
  const bool noisy = gating_of(shape) == GatingKind::kNoisy;
  if (noisy) shape.variant = static_cast<std::uint8_t>(GatingKind::kTopK);  // one matrix is enough
  const KernelCase router{"router of a routing",
                          OpKind::kRouter,
                          shape,
                          {{shape.rows * 3, Access::kRead},
                           {shape.experts * 3, Access::kRead},
                           {shape.rows * shape.experts, Access::kWrite, Content::kWide},
                           {shape.rows * shape.choices, Access::kWrite, Content::kWide},
                           {routing_elements(shape), Access::kWrite, Content::kRouting},
                           {statistics_elements(shape), Access::kWrite, Content::kDouble}}};
  return run_case(router, random_values(router, 3), DType::kFp64)[4];
}

template <typename S, typename W>
Values run_typed(const KernelCase& c, const Values& inputs, DType dtype, const CaseOptions& options) {
  std::vector<std::vector<std::byte>> memory;
  for (std::size_t i = 0; i < c.operands.size(); ++i) memory.push_back(pack<S, W>(c.operands[i].content, inputs[i]));
  std::vector<OperandView> views;
  for (std::size_t i = 0; i < c.operands.size(); ++i) {
    const auto bytes = static_cast<std::int64_t>(memory[i].size());
    memory[i].insert(memory[i].begin(), options.begin, std::byte{0xff});
    views.push_back({.data = memory[i].data() + options.begin, .bytes = Bytes(bytes), .access = c.operands[i].access});
  }
  WorkerPool pool(options.workers, options.shuffle);
  const MatrixProduct product(options.library);
  Recipe recipe = case_recipe();
  recipe.precision = options.precision;
  options.launch({.kind = c.kind, .dtype = dtype, .shape = c.shape}, views,
         {.pool = &pool, .product = &product, .recipe = &recipe, .rope_scaling = c.rope_scaling, .step = kCaseStep,
          .experts = &c.experts, .micro_batch = 1, .block = 2});
  Values results;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    memory[i].erase(memory[i].begin(), memory[i].begin() + static_cast<std::ptrdiff_t>(options.begin));
    results.push_back(unpack<S, W>(c.operands[i].content, memory[i]));
  }
  return results;
}

}  // namespace

Recipe case_recipe() { return {.sequence = 1, .learning_rate = 0.01, .weight_decay = 0.1, .clip = 0.75}; }

Values random_values(const KernelCase& c, std::uint32_t seed) {
  std::mt19937 random(seed);
  Values values;
  for (const CaseOperand& operand : c.operands) {
    std::vector<double> elements(static_cast<std::size_t>(operand.elements), std::numeric_limits<double>::quiet_NaN());
    if (reads(operand.access)) {
      if (operand.content == Content::kRouting) elements = routing_of(c.shape);
      for (double& x : elements) {
        if (operand.content != Content::kRouting) x = draw(random, operand.content, c.shape);
      }
    }
    values.push_back(std::move(elements));
  }
  return values;
}

Values rounded(const KernelCase& c, Values values, DType dtype) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (c.operands[i].content != Content::kReal) continue;
    values[i] = dtype == DType::kBf16 ? unpack<Bf16>(pack<Bf16>(values[i])) : unpack<Fp16>(pack<Fp16>(values[i]));
  }
  return values;
}

Values run_case(const KernelCase& c, const Values& inputs, DType dtype, const CaseOptions& options) {
  if (dtype == DType::kFp64) return run_typed<double, double>(c, inputs, dtype, options);
  if (dtype == DType::kBf16) return run_typed<Bf16, float>(c, inputs, dtype, options);
  if (dtype == DType::kFp16) return run_typed<Fp16, float>(c, inputs, dtype, options);
  return run_typed<float, float>(c, inputs, dtype, options);
}

double relative_distance(const std::vector<double>& a, const std::vector<double>& b) {
  double distance = 0, size = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    distance += (a[i] - b[i]) * (a[i] - b[i]);
    size += b[i] * b[i];
  }
  return distance == 0 ? 0 : std::sqrt(distance / size);
}

}  // namespace plimsoll::test
