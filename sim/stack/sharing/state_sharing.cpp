#include "sim/stack/sharing/state_sharing.h"

#include "sim/stack/optimizer_step.h"
#include "sim/stack/sequence_ranks.h"
#include "sim/stack/sharing/gemini_chunks.h"
#include "sim/stack/sharing/gradient_buckets.h"
#include "sim/stack/sharing/partitioned_states.h"
#include "sim/stack/sharing/partitioned_units.h"
#include "sim/stack/sharing/unit_sharding.h"

namespace plimsoll {
namespace {

bool is_mixed(const Recipe& recipe) { return recipe.precision == Precision::kBf16Mixed || recipe.precision == Precision::kFp16Mixed; }

/// torch.distributed.fsdp.fully_shard shards every parameter by itself; FullyShardedDataParallel one flat one a unit.
bool shards_each_parameter(const StackSetup& setup) { return setup.modules == ModuleStyle::kTorchTune; }

/// FullyShardedDataParallel gathers when no more than two units that it has let go are still in use (limit_all_gathers; torch 2.2,
/// _limiter_utils.py), and in backward gathers ahead the unit that came before in forward (_exec_order_utils.py). Where adapters' matrices are
/// units, as PEFT's fsdp_auto_wrap_policy has them, these are parts of the same block: no block is gathered beside another one's kernels.
bool wraps_adapters(const Recipe& recipe, const StackSetup& setup) {
  const bool layers = setup.adapter.method == AdapterMethod::kLora || setup.adapter.method == AdapterMethod::kDora;
  return recipe.adapter.exists() && layers && setup.zero == 3 && setup.modules == ModuleStyle::kHuggingFace;
}

UnitShardingOptions unit_options(const Recipe& recipe, const StackSetup& setup) {
  const bool each = shards_each_parameter(setup);
  return {.ranks = zero_ranks(setup),
          .flat = !each,
          .keeps_after_forward = setup.zero == 2,
          .state_type = has_half_weights(recipe, setup) ? std::optional(DType::kFp32) : std::nullopt,
          .separate_ends = each && setup.separate_ends,
          .reduces_in_fp32 = each && setup.reduces_in_single.value_or(has_half_weights(recipe, setup)),
          .whole_gradients = recipe.accumulate > 1 && keeps_whole_gradients(setup),
          .adapters_apart = wraps_adapters(recipe, setup),
          .offloads = setup.parameters != Home::kDevice,
          .optimizer = recipe.optimizer};
}

}  // namespace

void StateSharing::update(const Recipe& recipe, OptimizerLoop loop) {
  step(with_gradients(tape_.parameters()), recipe, loop);
  clear_gradients(tape_, keeps_gradients_);
}

void StateSharing::step(const std::vector<Parameter*>& trained, const Recipe& recipe, OptimizerLoop loop) {
  if (recipe.clip > 0) clip_gradients(tape_, trained);
  optimizer_step(tape_, trained, recipe, loop);
}

void StateSharing::update_in_host_memory(const Recipe& recipe, const Parameter& flat, DType type, Home states,
                                         double share) {
  constexpr double kSingle = 4;  // bytes of an fp32 element
  const double count = share * static_cast<double>(flat.value.elements());
  const double kept = kSingle * count + share * static_cast<double>(state_bytes(flat, recipe.optimizer).count);
  const auto launch = [&](StackKernelSort sort, double bytes) { tape_.launch({.sort = sort, .dtype = DType::kFp32, .bytes = bytes}); };
  // Unscaled and clipped in place.
  if (recipe.clip > 0 || scales_loss(recipe.precision)) launch(StackKernelSort::kHostPass, 2 * kSingle * count);
  if (states == Home::kDrive) launch(StackKernelSort::kFromDrive, kept + kSingle * count);
  // The gradient is read, the copy and the moments each way, the two-byte weights written.
  launch(StackKernelSort::kHostUpdate, kSingle * count + 2 * kept + static_cast<double>(size_of(type)) * count);
  if (states == Home::kDrive) launch(StackKernelSort::kToDrive, kept);
}

void StateSharing::collective(double bytes, std::int64_t ranks, DType dtype, int rounds, bool blocking) {
  if (ranks < 2) return;
  tape_.launch({.sort = StackKernelSort::kCollective, .dtype = dtype, .blocking = blocking, .rounds = static_cast<std::uint8_t>(rounds), .ranks = ranks,
                .bytes = rounds * bytes * static_cast<double>(ranks - 1) / static_cast<double>(ranks)});
}

bool shares_parameters(const StackSetup& setup) {
  if (setup.stack == Stack::kDeepspeed) return setup.zero == 3;
  if (setup.stack == Stack::kColossalai) return true;
  return is_fsdp(setup);
}

std::string block_of(const std::string& parameter) {
  const std::string name = parameter.substr(0, parameter.find('.'));
  const bool numbered = name.find("block") != std::string::npos || name.starts_with("encoder ") || name.starts_with("decoder ");
  return numbered ? name : std::string();
}

bool has_half_weights(const Recipe& recipe, const StackSetup& setup) {
  if (!is_mixed(recipe)) return false;
  return setup.stack != Stack::kPytorch || setup.half_weights || shares_parameters(setup);
}

std::unique_ptr<StateSharing> share_states(Tape& tape, const Recipe& recipe, const StackSetup& setup) {
  if (setup.stack == Stack::kDeepspeed && setup.zero == 3) return std::make_unique<PartitionedUnits>(tape, recipe, setup);
  if (setup.stack == Stack::kDeepspeed) return std::make_unique<PartitionedStates>(tape, recipe, setup);
  if (setup.stack == Stack::kColossalai) return std::make_unique<GeminiChunks>(tape, recipe, setup);
  if (setup.half_weights && is_mixed(recipe)) return std::make_unique<PartitionedStates>(tape, recipe, setup);
  if (shares_parameters(setup)) return std::make_unique<UnitSharding>(tape, unit_options(recipe, setup));
  if (setup.data_ranks > 1) {
    return std::make_unique<GradientBuckets>(tape, GradientBucketOptions{.ranks = setup.data_ranks, .shares_states = setup.zero == 1});
  }
  return std::make_unique<StateSharing>(tape, setup.keeps_gradients);
}

}  // namespace plimsoll
