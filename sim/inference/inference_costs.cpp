#include "sim/inference/inference_costs.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/cost/efficiencies.h"
#include "sim/cost/kernel_work.h"

namespace plimsoll {
namespace {

/// FLOP/s of matrix units; 0 for other types.
double matrix_flops(const Processor& processor, DType dtype) {
  if (dtype == DType::kFp16) return processor.fp16_flops;
  return dtype == DType::kBf16 ? processor.bf16_flops : 0;
}

double host_link_rate(const Platform& platform) {
  const auto host = platform.space(SpaceKind::kHost);
  const auto device = platform.space(SpaceKind::kDevice);
  const auto link = host && device ? platform.link(*host, *device) : std::nullopt;
  return link ? platform.at(*link).bytes_per_second : 0;
}

}  // namespace

InferenceCosts::InferenceCosts(const CostModel& inner, const Platform& platform)
    : inner_(inner), pageable_rate_(cost_constants().at("pageable.share") * host_link_rate(platform)) {}

Result<Cost> InferenceCosts::kernel(const Processor& processor, const Kernel& kernel) const {
  auto cost = inner_.kernel(processor, kernel);
  const std::string key = fmt::format("sustained.{}", processor.calibration_name);
  const double nominal = matrix_flops(processor, kernel.dtype);
  if (!cost || sort_of(kernel.kind) != KernelSort::kProduct || nominal <= 0 || !cost_constants().has(key)) return cost;
  const double reached = cost_constants().at(key) * cost_constants().at("step.professional") * nominal;
  const Cost sustained = cost_of(work_of(kernel).flops / reached, cost->origin);
  return sustained.median > cost->median ? sustained : *cost;
}

Result<Cost> InferenceCosts::transfer(const Platform& platform, const Link& link, Bytes bytes) const {
  return inner_.transfer(platform, link, bytes);
}

Result<Cost> InferenceCosts::host_work(const Processor& processor, HostTask task, Bytes bytes) const {
  if (task == HostTask::kReportLoss) return cost_of(static_cast<double>(bytes.count) * 1e-9, CostOrigin::kExtrapolated);
  if (task != HostTask::kLoadTokens || pageable_rate_ <= 0) return inner_.host_work(processor, task, bytes);
  return cost_of(static_cast<double>(bytes.count) / pageable_rate_, CostOrigin::kExtrapolated);
}

Nanoseconds InferenceCosts::issue_overhead(const Platform& platform, QueueKind queue) const {
  return inner_.issue_overhead(platform, queue);
}

Platform with_cpu_rate(Platform platform) {
  for (Processor& processor : platform.processors) {
    if (processor.kind != ProcessorKind::kCpu || processor.fp32_flops > 0) continue;
    processor.fp32_flops = static_cast<double>(processor.cores) * cost_constants().at("cpu.core_flops");
  }
  return platform;
}

}  // namespace plimsoll
