#include "executor/cpu/fill_state.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "executor/data/counter_random.h"
#include "executor/kernels/half_types.h"
#include "executor/kernels/worker_pool.h"
#include "formats/models/half_floats.h"

namespace plimsoll {
namespace {

constexpr double kDeviation = 0.02;
constexpr std::int64_t kElementsPerTask = 1 << 16;

/// How a tensor starts: `constant` + `deviation` · normal.
struct Start {
  double constant = 0;
  double deviation = 0;
};

Start start_of(ParameterRole role, const ModelSpec& spec) {
  switch (role) {
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
      return {};
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

template <typename Real>
void fill_range(Real* out, std::int64_t begin, std::int64_t end, std::uint64_t key, const Start& start) {
  for (std::int64_t i = begin; i < end; ++i) {
    const double noise = start.deviation == 0 ? 0 : start.deviation * normal_at(key, static_cast<std::uint64_t>(i));
    out[i] = stored_as<Real>(start.constant + noise);
  }
}

template <typename Real>
void fill_group(const ModelSpec& spec, GroupId id, std::uint64_t seed, Real* out, WorkerPool& pool) {
  const ParameterGroup group = lay_out_parameters(spec).at(id);
  const std::uint64_t key = random_at(mix64(seed), id.index);
  for (const ParameterTensor& tensor : group.tensors) {
    const Start start = start_of(tensor.role, spec);
    const std::int64_t end = tensor.offset + tensor.elements();
    const std::int64_t tasks = (tensor.elements() + kElementsPerTask - 1) / kElementsPerTask;
    pool.run(tasks, [&](std::int64_t task, std::int64_t) {
      const std::int64_t begin = tensor.offset + task * kElementsPerTask;
      fill_range(out, begin, std::min(end, begin + kElementsPerTask), key, start);
    });
  }
}

}  // namespace

double normal_at(std::uint64_t key, std::uint64_t place) {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - to_unit(random_at(key, 2 * place))));
  return radius * std::cos(2.0 * std::numbers::pi * to_unit(random_at(key, 2 * place + 1)));
}

void fill_weights(const ModelSpec& spec, GroupId group, std::uint64_t seed, DType dtype, std::span<std::byte> out,
                  WorkerPool& pool) {
  const auto fill = [&](auto* weights) { fill_group(spec, group, seed, weights, pool); };
  if (dtype == DType::kFp64) return fill(reinterpret_cast<double*>(out.data()));
  if (dtype == DType::kBf16) return fill(reinterpret_cast<Bf16*>(out.data()));
  if (dtype == DType::kFp16) return fill(reinterpret_cast<Fp16*>(out.data()));
  fill(reinterpret_cast<float*>(out.data()));
}

}  // namespace plimsoll
