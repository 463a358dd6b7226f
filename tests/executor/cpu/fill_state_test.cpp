#include "executor/cpu/fill_state.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "core/graph/buildable.h"
#include "executor/kernels/worker_pool.h"
#include "tests/support/small_models.h"

namespace plimsoll::test {
namespace {

/// Calls `look(tensor, values)` for every tensor of the model as it begins.
template <typename Look>
void for_tensors(const ModelSpec& spec, const Recipe& recipe, const Look& look) {
  WorkerPool pool(1);
  const ParameterLayout layout = lay_out_parameters(spec, recipe.adapter);
  for (std::size_t g = 0; g < layout.groups.size(); ++g) {
    const ParameterGroup& group = layout.groups[g];
    std::vector<double> values(static_cast<std::size_t>(group.elements));
    fill_weights(spec, recipe, GroupId(g), DType::kFp64, std::as_writable_bytes(std::span(values)), pool);
    for (const ParameterTensor& tensor : group.tensors) {
      look(tensor, std::span(values).subspan(static_cast<std::size_t>(tensor.offset), static_cast<std::size_t>(tensor.elements())));
    }
  }
}

/// Zeros from which an adapter and a noisy router begin.
bool begins_at_zero(const ParameterTensor& tensor, const ModelSpec& spec) {
  const bool noise = tensor.role == ParameterRole::kRouterNoiseWeight;
  const bool router = tensor.role == ParameterRole::kRouterWeight && spec.experts.gating == GatingKind::kNoisy;
  return tensor.role == ParameterRole::kAdapterB || noise || router;
}

}  // namespace

TEST_CASE("every matrix begins at random numbers, but for those whose beginning is zero") {
  Recipe recipe = small_recipe();
  recipe.adapter.rank = 4;
  recipe.adapter.targets = {AdapterTarget::kQuery, AdapterTarget::kValue};
  int looked = 0;
  for (int family = 0; family <= static_cast<int>(Family::kTransfoXl); ++family) {
    const ModelSpec spec = small_model(static_cast<Family>(family), 2);
    if (!validate(spec) || !unbuildable_shape(spec).empty()) continue;
    for_tensors(spec, recipe, [&](const ParameterTensor& tensor, std::span<const double> values) {
      if (tensor.rows == 1 || tensor.columns == 1) return;
      INFO(spec.name << ", role " << static_cast<int>(tensor.role));
      const bool varies = std::any_of(values.begin(), values.end(), [&](double value) { return value != values.front(); });
      CHECK(varies != begins_at_zero(tensor, spec));
      ++looked;
    });
  }
  CHECK(looked > 100);
}

TEST_CASE("norms begin at one: all vectors of a model without biases do") {
  for (const Family family : {Family::kLlama, Family::kMistral, Family::kMixtral, Family::kOlmo2, Family::kQwen3}) {
    const ModelSpec spec = small_model(family, 2);
    int norms = 0;
    for_tensors(spec, small_recipe(), [&](const ParameterTensor& tensor, std::span<const double> values) {
      if (tensor.rows > 1) return;
      INFO(spec.name << ", role " << static_cast<int>(tensor.role));
      CHECK(std::all_of(values.begin(), values.end(), [](double value) { return value == 1; }));
      ++norms;
    });
    CHECK(norms >= 5);  // two a block, and the last
  }
}

}  // namespace plimsoll::test
