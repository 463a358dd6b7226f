#include "executor/cpu/fill_state.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "executor/data/counter_random.h"
#include "executor/kernels/half_types.h"
#include "executor/kernels/store_tensor.h"
#include "executor/kernels/worker_pool.h"
#include "formats/models/half_floats.h"

namespace plimsoll {
namespace {

constexpr double kDeviation = 0.02;
constexpr std::int64_t kElementsPerTask = 1 << 16;

/// How a tensor starts: `constant` + `deviation` · normal + `spread` · uniform in ±1.
struct Start {
  double constant = 0;
  double deviation = 0;
  double spread = 0;
};

Start start_of(const ParameterTensor& tensor, const ModelSpec& spec) {
  switch (tensor.role) {
    case ParameterRole::kTokenEmbedding:
    case ParameterRole::kPositionEmbedding:
    case ParameterRole::kQkvWeight:
    case ParameterRole::kFfnInWeight:
    case ParameterRole::kHeadWeight:
      return {.constant = 0, .deviation = kDeviation};
    case ParameterRole::kProjectionWeight:
    case ParameterRole::kFfnOutWeight:
      return {.constant = 0, .deviation = kDeviation / std::sqrt(2.0 * static_cast<double>(spec.layers))};
    case ParameterRole::kNorm1Weight:
    case ParameterRole::kNorm2Weight:
    case ParameterRole::kFinalNormWeight:
    case ParameterRole::kQueryNormWeight:
    case ParameterRole::kKeyNormWeight:
      return {.constant = spec.norm == NormKind::kRmsNormPlusOne ? 0.0 : 1.0, .deviation = 0};
    case ParameterRole::kNorm1Bias:
    case ParameterRole::kQkvBias:
    case ParameterRole::kProjectionBias:
    case ParameterRole::kNorm2Bias:
    case ParameterRole::kFfnInBias:
    case ParameterRole::kFfnOutBias:
    case ParameterRole::kFinalNormBias:
    case ParameterRole::kHeadBias:
    case ParameterRole::kAdapterB:
      return {};
    case ParameterRole::kAdapterA:
      return {.spread = 1 / std::sqrt(static_cast<double>(tensor.columns))};
  }
  return {};
}

/// Two-byte weights are the fp32 ones, rounded: what a master copy would hold comes first.
template <typename Real>
Real stored_as(double value) {
  return static_cast<Real>(value);
}
template <>
Bf16 stored_as(double value) {
  return {bf16_from_float(static_cast<float>(value))};
}
template <>
Fp16 stored_as(double value) {
  return {fp16_from_float(static_cast<float>(value))};
}

/// Elements [begin, end) of the tensor that starts at `out`; which numbers they are depends on their places in the group.
template <typename Real>
void fill_range(Real* out, std::int64_t begin, std::int64_t end, std::int64_t offset, std::uint64_t key, const Start& start) {
  for (std::int64_t i = begin; i < end; ++i) {
    const auto place = static_cast<std::uint64_t>(offset + i);
    const double normal = start.deviation == 0 ? 0 : start.deviation * normal_at(key, place);
    const double uniform = start.spread == 0 ? 0 : start.spread * (2 * to_unit(random_at(key, place)) - 1);
    out[i] = stored_as<Real>(start.constant + normal + uniform);
  }
}

template <typename Real>
void fill_tensor(Real* out, const ParameterTensor& tensor, std::uint64_t key, const Start& start, WorkerPool& pool) {
  const std::int64_t tasks = (tensor.elements() + kElementsPerTask - 1) / kElementsPerTask;
  pool.run(tasks, [&](std::int64_t task, std::int64_t) {
    const std::int64_t begin = task * kElementsPerTask;
    fill_range(out, begin, std::min(tensor.elements(), begin + kElementsPerTask), tensor.offset, key, start);
  });
}

/// What is filled: a group of a model, with the key of its random numbers.
struct Filled {
  const ModelSpec& spec;
  const ParameterGroup& group;
  std::uint64_t key = 0;
};

template <typename Real>
void fill_group(const Filled& of, Real* out, WorkerPool& pool) {
  for (const ParameterTensor& tensor : of.group.tensors) {
    fill_tensor(out + tensor.offset, tensor, of.key, start_of(tensor, of.spec), pool);
  }
}

/// A group whose matrices are encoded, one tensor after another.
void fill_encoded(const Filled& of, DType compute, std::span<std::byte> out, WorkerPool& pool) {
  std::vector<float> values;
  for (const ParameterTensor& tensor : of.group.tensors) {
    values.resize(static_cast<std::size_t>(tensor.elements()));
    fill_tensor(values.data(), tensor, of.key, start_of(tensor, of.spec), pool);
    store_tensor(values, stored_tensor(of.group, tensor, compute), tensor.storage, out);
  }
}

}  // namespace

double normal_at(std::uint64_t key, std::uint64_t place) {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - to_unit(random_at(key, 2 * place))));
  return radius * std::cos(2.0 * std::numbers::pi * to_unit(random_at(key, 2 * place + 1)));
}

void fill_weights(const ModelSpec& spec, const Recipe& recipe, GroupId group, DType dtype, std::span<std::byte> out,
                  WorkerPool& pool) {
  const ParameterGroup whole = lay_out_parameters(spec, recipe.adapter).at(group);
  const Filled of{spec, whole, random_at(mix64(recipe.seed), group.index)};
  const auto fill = [&](auto* weights) { fill_group(of, weights, pool); };
  if (is_encoded(whole)) return fill_encoded(of, dtype, out, pool);
  if (dtype == DType::kFp64) return fill(reinterpret_cast<double*>(out.data()));
  if (dtype == DType::kBf16) return fill(reinterpret_cast<Bf16*>(out.data()));
  if (dtype == DType::kFp16) return fill(reinterpret_cast<Fp16*>(out.data()));
  fill(reinterpret_cast<float*>(out.data()));
}

}  // namespace plimsoll
