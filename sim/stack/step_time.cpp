#include "sim/stack/step_time.h"

#include "sim/cost/efficiencies.h"
#include "sim/stack/collective_seconds.h"
#include "sim/stack/host_rates.h"
#include "sim/stack/kernel_seconds.h"
#include "sim/stack/sequence_ranks.h"
#include "sim/stack/step_timeline.h"
#include "sim/stack/tape/stack_kernel.h"

namespace plimsoll {
namespace {

constexpr double kMicro = 1e-6;

/// What the host's thread needs for one entry of the list: a loop over tensors issues every operation of an update by itself.
double dispatch_seconds(const StackKernel& kernel, const StackSetup& setup) {
  if (kernel.sort == StackKernelSort::kRelayout) return 0;  // issued by the library within the convolution's call
  const ConstantTable& constants = cost_constants();
  const bool loops = kernel.sort == StackKernelSort::kOptimizer && setup.loop == OptimizerLoop::kForLoop;
  if (loops) return constants.at("stack.dispatch.update") * kMicro;
  return constants.at(setup.compile ? "stack.dispatch.compiled" : "stack.dispatch.eager") * kMicro;
}

/// Queries of a context rank meet the keys of all of them, which come round in parts (ring attention).
StackKernel with_all_keys(StackKernel kernel, const StackSetup& setup) {
  if (kernel.sort == StackKernelSort::kAttention && !shares_sequence(setup)) kernel.flops *= static_cast<double>(setup.context_ranks);
  return kernel;
}

Result<double> launch_seconds(const StackKernel& kernel, const StackSetup& setup, const KernelRates& rates, const HostRates& host,
                              const NodePlacement& placed) {
  if (kernel.sort == StackKernelSort::kCollective) return collective_seconds(kernel, setup, rates.gpu, placed);
  if (is_host_work(kernel.sort)) return host_work_seconds(kernel, host);
  return kernel_seconds(with_all_keys(kernel, setup), rates);
}

}  // namespace

void set_interval(StackTime& time, std::optional<DType> products, const GpuEntry& gpu) {
  const auto known = products ? (*products == kFp8Type ? fp8_efficiency(gpu) : product_efficiency(gpu, *products)) : std::nullopt;
  const bool vague = products && (!known || known->origin != CostOrigin::kCatalogue);
  const Cost cost = cost_of(time.step, vague ? CostOrigin::kExtrapolated : CostOrigin::kCatalogue);
  time.low = to_seconds(cost.low);
  time.high = to_seconds(cost.high);
}

Result<std::vector<TimedLaunch>> timed_launches(const std::vector<StackKernel>& kernels, const StackSetup& setup, Precision precision,
                                                const GpuEntry& gpu) {
  const auto rates = kernel_rates(gpu, setup, precision);
  if (!rates) return fail(rates.error());
  const HostRates host = host_rates(gpu, setup);
  const auto placed = place_on_nodes(gpu, gpus_of(setup), {setup.nodes, setup.network, setup.peers});
  if (!placed) return fail(placed.error());
  std::vector<TimedLaunch> launches;
  launches.reserve(kernels.size());
  for (const StackKernel& kernel : kernels) {
    const auto seconds = launch_seconds(kernel, setup, *rates, host, *placed);
    if (!seconds) return fail(seconds.error());
    // Between chunks of a stage others are computed while a result is on its way (Megatron-LM: overlap_p2p_comm).
    const bool passing = kernel.sort == StackKernelSort::kCollective && kernel.among == Among::kStages && setup.chunks > 1 && setup.overlaps_communication;
    const bool reduces = kernel.sort == StackKernelSort::kCollective && kernel.phase == Phase::kBackward && (kernel.among == Among::kData || kernel.among == Among::kExpertCopies);
    launches.push_back({.sort = kernel.sort, .phase = kernel.phase, .turn = kernel.turn, .seconds = *seconds,
                        .dispatch = dispatch_seconds(kernel, setup), .blocking = kernel.blocking, .awaited = !passing, .reduces = reduces});
  }
  return launches;
}

Result<StackTime> step_time(const std::vector<StackKernel>& kernels, const StackSetup& setup, Precision precision,
                            const GpuEntry& gpu) {
  const auto launches = timed_launches(kernels, setup, precision, gpu);
  if (!launches) return fail(launches.error());
  StackTime time = lay_out_step(*launches).time;
  std::optional<DType> products;  // a step's are of one type, or of two with fp8, which is known less
  for (const StackKernel& kernel : kernels) {
    if (kernel.sort == StackKernelSort::kProduct && (!products || kernel.dtype == kFp8Type)) products = kernel.dtype;
    const double flops = with_all_keys(kernel, setup).flops;
    time.hardware_flops += flops;
    if (!kernel.again) time.model_flops += flops;
  }
  set_interval(time, products, gpu);
  return time;
}

}  // namespace plimsoll
