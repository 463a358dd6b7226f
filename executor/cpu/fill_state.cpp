#include "executor/cpu/fill_state.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "executor/data/counter_random.h"
#include "executor/data/normal_loops.h"
#include "executor/kernels/half_types.h"
#include "executor/kernels/store_tensor.h"
#include "executor/kernels/worker_pool.h"
#include "formats/models/half_floats.h"

namespace plimsoll {
namespace {

constexpr double kDeviation = 0.02;
constexpr std::int64_t kElementsPerTask = 1 << 16;

// Of normal numbers; what lies farther out is drawn again where a start is truncated.
constexpr double kTruncation = 2;

/// How a tensor starts: `constant` + `deviation` · normal + `spread` · uniform in ±1.
struct Start {
  double constant = 0;
  double deviation = 0;
  double spread = 0;
  bool truncated = false;
};

/// Fedus et al. 2021, section 2.4: a truncated normal of the variance s / n, n the number of inputs, with a tenth of the usual
/// s = 1.
Start switch_start(std::int64_t inputs) {
  constexpr double kScale = 0.1;
  return {.deviation = std::sqrt(kScale / static_cast<double>(inputs)), .truncated = true};
}

/// Of the layers of a mixture. A noisy router begins with nothing but noise (Shazeer et al. 2017, appendix A).
Start start_of_experts(ParameterRole role, const ModelSpec& spec) {
  const bool router = role == ParameterRole::kRouterWeight, in = role == ParameterRole::kExpertInWeight;
  if (spec.experts.gating == GatingKind::kSwitch) return switch_start(router || in ? spec.hidden : spec.expert_width());
  if (router) return {.deviation = spec.experts.gating == GatingKind::kNoisy ? 0 : kDeviation};
  return {.deviation = in ? kDeviation : kDeviation / std::sqrt(2.0 * static_cast<double>(spec.layers))};
}

double reciprocal_root(std::int64_t n) { return 1 / std::sqrt(static_cast<double>(n)); }

/// As T5 begins (Raffel et al. 2020's code, and transformers'): what a score is not divided by, queries begin smaller
/// by.
Start start_of_t5(const ParameterTensor& tensor, const ModelSpec& spec) {
  switch (tensor.role) {
    case ParameterRole::kTokenEmbedding:
    case ParameterRole::kHeadWeight:
      return {.deviation = 1};
    case ParameterRole::kCrossQueryWeight:
      return {.deviation = reciprocal_root(spec.hidden * spec.head_dim)};
    case ParameterRole::kProjectionWeight:
    case ParameterRole::kCrossProjectionWeight:
      return {.deviation = reciprocal_root(spec.attention_width())};
    case ParameterRole::kFfnOutWeight:
      return {.deviation = reciprocal_root(spec.ffn)};
    case ParameterRole::kQkvWeight:
    case ParameterRole::kCrossKeyValueWeight:
    case ParameterRole::kFfnInWeight:
    case ParameterRole::kRelativeBias:
      return {.deviation = reciprocal_root(spec.hidden)};
    default:
      return {.constant = 1};  // norms
  }
}

bool is_norm_weight(ParameterRole role) {
  switch (role) {
    case ParameterRole::kNorm1Weight:
    case ParameterRole::kNorm2Weight:
    case ParameterRole::kFinalNormWeight:
    case ParameterRole::kQueryNormWeight:
    case ParameterRole::kKeyNormWeight:
    case ParameterRole::kEmbeddingNormWeight:
    case ParameterRole::kTransformNormWeight:
    case ParameterRole::kNorm1BehindWeight:
    case ParameterRole::kNorm2BehindWeight: return true;
    default: return false;
  }
}

Start start_of(const ParameterTensor& tensor, const ModelSpec& spec) {
  if (spec.family == Family::kT5) return start_of_t5(tensor, spec);
  if (is_norm_weight(tensor.role)) return {.constant = spec.norm == NormKind::kRmsNormPlusOne ? 0.0 : 1.0};
  switch (tensor.role) {
    case ParameterRole::kTokenEmbedding:
    case ParameterRole::kPositionEmbedding:
    case ParameterRole::kQkvWeight:
    case ParameterRole::kFfnInWeight:
    case ParameterRole::kHeadWeight:
    case ParameterRole::kTokenTypeEmbedding:
    case ParameterRole::kClassToken:
    case ParameterRole::kPatchWeight:
    case ParameterRole::kTransformWeight:
    case ParameterRole::kPoolerWeight: return {.deviation = kDeviation};
    case ParameterRole::kProjectionWeight:
    case ParameterRole::kFfnOutWeight:
      // Where norms follow the sums, what comes in does not grow with the depth.
      return {.deviation = spec.post_norm ? kDeviation : kDeviation / std::sqrt(2.0 * static_cast<double>(spec.layers))};
    case ParameterRole::kRouterWeight:
    case ParameterRole::kExpertInWeight:
    case ParameterRole::kExpertOutWeight: return start_of_experts(tensor.role, spec);
    case ParameterRole::kAdapterA: return {.spread = 1 / std::sqrt(static_cast<double>(tensor.columns))};
    default: return {};  // biases, a router's noise, an adapter's B; and what only models without a graph have
  }
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

/// What lies too far out is drawn again.
double within(double normal, std::uint64_t key, std::int64_t place) {
  while (std::abs(normal) > kTruncation) {
    key = mix64(key);
    normal = normal_at(key, static_cast<std::uint64_t>(place));
  }
  return normal;
}

/// Of so many places from `place` on.
void draw_normals(std::uint64_t key, std::int64_t place, const Start& start, std::span<double> out) {
  normal_loops().draw(key, static_cast<std::uint64_t>(place), static_cast<std::int64_t>(out.size()), out.data());
  for (std::size_t i = 0; start.truncated && i < out.size(); ++i) out[i] = within(out[i], key, place + static_cast<std::int64_t>(i));
}

double draw_uniform(std::uint64_t key, std::int64_t place, const Start& start) {
  if (start.spread == 0) return 0;
  return start.spread * (2 * to_unit(random_at(key, static_cast<std::uint64_t>(place))) - 1);
}

/// Elements [begin, end) of the tensor that starts at `out`; which numbers they are depends on their places in the group.
template <typename Real>
void fill_range(Real* out, std::int64_t begin, std::int64_t end, std::int64_t offset, std::uint64_t key, const Start& start) {
  std::array<double, 512> normals{};
  for (std::int64_t at = begin; at < end; at += static_cast<std::int64_t>(normals.size())) {
    const std::int64_t n = std::min<std::int64_t>(end - at, static_cast<std::int64_t>(normals.size()));
    if (start.deviation != 0) draw_normals(key, offset + at, start, std::span(normals).first(static_cast<std::size_t>(n)));
    for (std::int64_t i = 0; i < n; ++i) {
      const double normal = start.deviation * normals[static_cast<std::size_t>(i)];
      out[at + i] = stored_as<Real>(start.constant + normal + draw_uniform(key, offset + at + i, start));
    }
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
    if (of.spec.family != Family::kT5 || tensor.role != ParameterRole::kQkvWeight) continue;
    ParameterTensor queries = tensor;
    queries.rows = of.spec.attention_width();
    queries.role = ParameterRole::kCrossQueryWeight;  // which begin alike
    fill_tensor(out + queries.offset, queries, of.key, start_of(queries, of.spec), pool);
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
