#include "executor/checkpoint/merge_adapter.h"

#include <algorithm>
#include <vector>

#include "core/model/adapter_parts.h"
#include "executor/checkpoint/adapter_folder.h"
#include "executor/checkpoint/weight_source.h"

namespace plimsoll {
namespace {

/// Gives the groups of a model with its adapters added in.
class MergedWeights {
 public:
  MergedWeights(const WeightSource& base, const WeightSource& adapter, const ModelSpec& spec, const AdapterSpec& how)
      : base_(base), adapter_(adapter), spec_(spec), how_(how), layout_(lay_out_parameters(spec, how)) {}

  /// Empty when it cannot be read: see `problem`.
  std::span<const std::byte> group(GroupId id) {
    values_.resize(static_cast<std::size_t>(layout_.at(id).elements));
    problem = base_.read_group(id, DType::kFp32, std::as_writable_bytes(std::span(values_)));
    if (problem && layout_.at(id).block >= 0) problem = add_adapters(id);
    return problem ? std::as_bytes(std::span(values_)) : std::span<const std::byte>{};
  }

  Result<void> problem;

 private:
  Result<void> add_adapters(GroupId id) {
    const GroupId beside = layout_.adapter(layout_.at(id).block);
    narrow_.resize(static_cast<std::size_t>(layout_.at(beside).elements));
    if (auto read = adapter_.read_group(beside, DType::kFp32, std::as_writable_bytes(std::span(narrow_))); !read) return read;
    for (const AdapterPart& part : adapter_parts(spec_)) {
      if (!how_.has(part.target)) continue;
      const ParameterGroup& adapters = layout_.at(beside);
      add(part, narrow_.data() + adapters.find(ParameterRole::kAdapterA, part.target)->offset,
          narrow_.data() + adapters.find(ParameterRole::kAdapterB, part.target)->offset,
          values_.data() + layout_.at(id).find(part.weight)->offset + part.first * part.inputs);
    }
    return {};
  }

  /// W += scale · B A, each element summed in fp64 and rounded once.
  void add(const AdapterPart& part, const float* a, const float* b, float* weight) const {
    std::vector<double> row(static_cast<std::size_t>(part.inputs));
    for (std::int64_t output = 0; output < part.outputs; ++output) {
      std::fill(row.begin(), row.end(), 0.0);
      for (std::int64_t k = 0; k < how_.rank; ++k) {
        const double factor = how_.scale() * static_cast<double>(b[output * how_.rank + k]);
        for (std::int64_t i = 0; i < part.inputs; ++i)
          row[static_cast<std::size_t>(i)] += factor * static_cast<double>(a[k * part.inputs + i]);
      }
      float* place = weight + output * part.inputs;
      for (std::int64_t i = 0; i < part.inputs; ++i)
        place[i] = static_cast<float>(static_cast<double>(place[i]) + row[static_cast<std::size_t>(i)]);
    }
  }

  const WeightSource& base_;
  const WeightSource& adapter_;
  const ModelSpec& spec_;
  const AdapterSpec& how_;
  ParameterLayout layout_;
  std::vector<float> values_, narrow_;
};

}  // namespace

Result<void> merge_adapter(const std::filesystem::path& base, const ModelSpec& spec, const std::filesystem::path& adapter,
                           const std::filesystem::path& output, const SaveOptions& options) {
  const auto how = describe_adapter(adapter, spec);
  if (!how) return fail(how.error());
  const auto weights = WeightSource::open(base, spec);
  if (!weights) return fail(weights.error());
  const auto beside = WeightSource::open_adapter(adapter, spec, how->adapter);
  if (!beside) return fail(beside.error());
  MergedWeights merged(*weights, *beside, spec, how->adapter);
  const auto saved =
      save_weights(output, spec, Precision::kFp32, options, [&](TensorKind, GroupId group) { return merged.group(group); });
  return merged.problem ? saved : merged.problem;
}

}  // namespace plimsoll
