#include "sim/stack/step_time.h"

#include <algorithm>
#include <array>

#include "sim/cost/efficiencies.h"
#include "sim/stack/collective_seconds.h"
#include "sim/stack/kernel_seconds.h"

namespace plimsoll {
namespace {

constexpr double kMicro = 1e-6;

/// Seconds of one phase by who is busy.
struct PhaseWork {
  double gpu = 0;
  double host = 0;
  double collectives = 0;
  double last_collective = 0;
  double transfers = 0;

  [[nodiscard]] double without_others() const { return std::max(gpu, host); }
  /// Of collectives, what kernels do not hide; the last of a phase has none left beside it.
  [[nodiscard]] double exposed() const { return std::max(collectives - without_others(), last_collective); }
  [[nodiscard]] double exposed_transfers() const { return std::max(transfers - without_others(), 0.0); }
};

using Phases = std::array<PhaseWork, 3>;

PhaseWork& phase_of(Phases& phases, const StackKernel& kernel) {
  return phases[kernel.phase == Phase::kForward ? 0 : kernel.phase == Phase::kBackward ? 1 : 2];
}

bool is_transfer(StackKernelSort sort) { return sort == StackKernelSort::kToHost || sort == StackKernelSort::kToDevice; }

/// What the host's thread needs for one entry of the list: a loop over tensors issues every operation of an update by itself.
double host_seconds(const StackKernel& kernel, const StackSetup& setup) {
  const ConstantTable& constants = cost_constants();
  const bool loops = kernel.sort == StackKernelSort::kOptimizer && setup.loop == OptimizerLoop::kForLoop;
  if (loops) return constants.at("stack.dispatch.update") * kMicro;
  return constants.at(setup.compile ? "stack.dispatch.compiled" : "stack.dispatch.eager") * kMicro;
}

Result<Phases> work_of(const std::vector<StackKernel>& kernels, const StackSetup& setup, const KernelRates& rates) {
  Phases phases;
  for (const StackKernel& kernel : kernels) {
    PhaseWork& work = phase_of(phases, kernel);
    work.host += host_seconds(kernel, setup);
    if (kernel.sort == StackKernelSort::kCollective) {
      work.last_collective = collective_seconds(kernel.bytes, rates.gpu);
      work.collectives += work.last_collective;
    } else if (is_transfer(kernel.sort)) {
      work.transfers += kernel.bytes / host_link_rate(rates.gpu);
    } else {
      const auto seconds = kernel_seconds(kernel, rates);
      if (!seconds) return fail(seconds.error());
      work.gpu += *seconds;
    }
  }
  return phases;
}

void set_interval(StackTime& time, const std::vector<StackKernel>& kernels, const GpuEntry& gpu) {
  CostOrigin origin = CostOrigin::kCatalogue;
  for (const StackKernel& kernel : kernels) {
    if (kernel.sort != StackKernelSort::kProduct) continue;
    const auto known = product_efficiency(gpu, kernel.dtype);
    if (!known || known->origin != CostOrigin::kCatalogue) origin = CostOrigin::kExtrapolated;
    break;  // a step's products are of one type
  }
  const Cost cost = cost_of(time.step, origin);
  time.low = to_seconds(cost.low);
  time.high = to_seconds(cost.high);
}

}  // namespace

Result<StackTime> step_time(const std::vector<StackKernel>& kernels, const StackSetup& setup, Precision precision,
                            const GpuEntry& gpu) {
  const auto rates = kernel_rates(gpu, setup, precision);
  if (!rates) return fail(rates.error());
  const auto phases = work_of(kernels, setup, *rates);
  if (!phases) return fail(phases.error());
  StackTime time;
  for (const StackKernel& kernel : kernels) {
    time.hardware_flops += kernel.flops;
    if (!kernel.again) time.model_flops += kernel.flops;
  }
  double* const parts[] = {&time.forward, &time.backward, &time.optimizer};
  for (std::size_t i = 0; i < phases->size(); ++i) {
    const PhaseWork& work = (*phases)[i];
    *parts[i] = work.without_others() + work.exposed() + work.exposed_transfers();
    time.exposed_communication += work.exposed();
    time.exposed_transfer += work.exposed_transfers();
    time.step += *parts[i];
  }
  set_interval(time, kernels, gpu);
  return time;
}

}  // namespace plimsoll
