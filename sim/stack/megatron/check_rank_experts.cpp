#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "sim/stack/megatron/rank_experts.h"

namespace plimsoll {
namespace {

tl::unexpected<Error> refused(const ModelSpec& spec, std::string_view what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = fmt::format("megatron: {} {}", spec.name, what), .where = {}, .remedy = std::move(remedy)});
}

/// What of the mixture itself is of another kind.
std::string_view other_mixture(const ModelSpec& spec, const StackSetup& setup) {
  const ExpertSpec& experts = spec.experts;
  const std::pair<bool, std::string_view> others[] = {
      {experts.gating != GatingKind::kTopK && experts.gating != GatingKind::kSwitch, "has routers of another kind than top-k"},
      {experts.capacity > 0 || experts.groups > 1, "has experts of bounded capacity, whose dropping Megatron-LM's layers are not taken to have"},
      {experts.dropout > 0, "has dropout inside its experts"},
      {is_gated(spec.activation) && spec.activation != ActivationKind::kSwiGlu, "has gated experts of another function than SwiGLU"},
      {spec.mlp_bias, "has experts with biases, which Megatron-LM's dispatchers refuse"},
      {setup.fp8.exists(), "has experts, whose products in fp8 are not modelled"},
      {setup.stack != Stack::kMegatron, "has experts, which Megatron's modules under another program are not taken to have"}};
  for (const auto& [is, what] : others) {
    if (is) return what;
  }
  return {};
}

Result<void> divides(std::string_view option, std::int64_t degree, std::int64_t whole, std::string_view what) {
  if (whole % degree == 0) return {};
  return fail({.kind = ErrorKind::kInput, .what = fmt::format("{} {} do not divide by {}", whole, what, degree), .where = std::string(option),
               .remedy = "choose a degree that divides it"});
}

}  // namespace

Result<void> check_rank_experts(const ModelSpec& spec, const StackSetup& setup) {
  if (spec.experts.count == 0) {
    const bool asked = setup.expert_ranks > 1 || setup.expert_tensor_ranks || setup.gathers_tokens || setup.grouped_experts.value_or(false);
    if (!asked) return {};
    return refused(spec, "has no experts that ranks could share", "leave --ep, --etp, --expert-dispatch and --grouped-experts out");
  }
  if (const std::string_view what = other_mixture(spec, setup); !what.empty()) return refused(spec, what, "choose --stack pytorch");
  const std::int64_t each = setup.expert_tensor_ranks.value_or(setup.tensor_ranks);
  if (setup.tensor_ranks > 1 && !setup.sequence_parallel) {
    return fail({.kind = ErrorKind::kInput, .what = "Megatron-LM trains experts beside tensor ranks with sequence parallelism alone", .where = "--tp",
                 .remedy = "add --sequence-parallel"});
  }
  if (const auto fits = divides("--ep", setup.expert_ranks, spec.experts.count, "experts"); !fits) return fits;
  if (const auto fits = divides("--tp", setup.tensor_ranks, spec.experts.shared_width, "columns of the shared expert"); !fits) return fits;
  if (const auto fits = divides("--etp", each, spec.expert_width(), "columns of an expert"); !fits) return fits;
  const std::int64_t ranks = setup.data_ranks * setup.context_ranks * setup.tensor_ranks;
  if (ranks % (setup.expert_ranks * each) == 0) return {};
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("{} ranks of a stage do not divide by {}: --ep {} x {} ranks that share each expert (--etp, as --tp where it is not said)",
                                   ranks, setup.expert_ranks * each, setup.expert_ranks, each),
               .where = "--ep", .remedy = each > 1 ? "choose a degree that divides it, or take --etp 1" : "choose a degree that divides it"});
}

}  // namespace plimsoll
