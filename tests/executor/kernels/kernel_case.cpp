#include "tests/executor/kernels/kernel_case.h"

#include <cmath>
#include <limits>
#include <random>

#include "executor/kernels/matrix_product.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll::test {
namespace {

double draw(std::mt19937& random, Content content, std::int64_t vocabulary) {
  const auto uniform = [&](float low, float high) {
    return static_cast<double>(std::uniform_real_distribution<float>(low, high)(random));
  };
  switch (content) {
    case Content::kReal:
      return uniform(-1, 1);
    case Content::kPositive:
      return uniform(0.5F, 1.5F);
    case Content::kToken:
      return static_cast<double>(std::uniform_int_distribution<std::int64_t>(0, vocabulary - 1)(random));
    case Content::kDouble:
      return uniform(0, 1);
    case Content::kScratch:
      break;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

template <typename T>
std::vector<std::byte> pack(const std::vector<double>& values) {
  std::vector<T> typed(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) typed[i] = static_cast<T>(values[i]);
  const auto* bytes = reinterpret_cast<const std::byte*>(typed.data());
  return {bytes, bytes + typed.size() * sizeof(T)};
}

template <typename T>
std::vector<double> unpack(const std::vector<std::byte>& bytes) {
  const T* typed = reinterpret_cast<const T*>(bytes.data());
  return {typed, typed + bytes.size() / sizeof(T)};
}

template <typename T>
std::vector<std::byte> pack(Content content, const std::vector<double>& values) {
  if (content == Content::kToken) return pack<std::int32_t>(values);
  return content == Content::kDouble ? pack<double>(values) : pack<T>(values);
}

template <typename T>
std::vector<double> unpack(Content content, const std::vector<std::byte>& bytes) {
  if (content == Content::kScratch) return {};
  if (content == Content::kToken) return unpack<std::int32_t>(bytes);
  return content == Content::kDouble ? unpack<double>(bytes) : unpack<T>(bytes);
}

template <typename T>
Values run_typed(const KernelCase& c, const Values& inputs, DType dtype, const CaseOptions& options) {
  std::vector<std::vector<std::byte>> memory;
  for (std::size_t i = 0; i < c.operands.size(); ++i) memory.push_back(pack<T>(c.operands[i].content, inputs[i]));
  std::vector<OperandView> views;
  for (std::size_t i = 0; i < c.operands.size(); ++i) {
    views.push_back({.data = memory[i].data(),
                     .bytes = Bytes(static_cast<std::int64_t>(memory[i].size())),
                     .access = c.operands[i].access});
  }
  WorkerPool pool(options.workers, options.shuffle);
  const MatrixProduct product(options.library);
  const Recipe recipe = case_recipe();
  launch({.kind = c.kind, .dtype = dtype, .shape = c.shape}, views,
         {.pool = &pool, .product = &product, .recipe = &recipe, .rope_scaling = c.rope_scaling, .step = kCaseStep});
  Values results;
  for (std::size_t i = 0; i < memory.size(); ++i) results.push_back(unpack<T>(c.operands[i].content, memory[i]));
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
      for (double& x : elements) x = draw(random, operand.content, c.shape.outputs);
    }
    values.push_back(std::move(elements));
  }
  return values;
}

Values run_case(const KernelCase& c, const Values& inputs, DType dtype, const CaseOptions& options) {
  return dtype == DType::kFp64 ? run_typed<double>(c, inputs, dtype, options)
                               : run_typed<float>(c, inputs, dtype, options);
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
