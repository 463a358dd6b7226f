#include "sim/inference/inference_costs.h"

#include "sim/cost/efficiencies.h"
#include "sim/cost/kernel_work.h"

namespace plimsoll {
namespace {

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
  return inner_.kernel(processor, kernel);
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
