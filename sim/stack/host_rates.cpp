#include "sim/stack/host_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "formats/machines/constant_table.h"
#include "sim/cost/efficiencies.h"
#include "sim/stack/collective_seconds.h"
#include "sim/stack/node_placement.h"

namespace plimsoll {
namespace {

constexpr double kGiga = 1e9;

double stated_or(double stated, std::string_view key) { return (stated > 0 ? stated : machine_defaults().at(key)) * kGiga; }

}  // namespace

HostRates host_rates(const GpuEntry& gpu, const StackSetup& setup) {
  const double dram = stated_or(setup.dram_gbs, fmt::format("dram.{}", to_text(gpu.board)));
  const auto ranks = static_cast<double>(gpus_of_node(gpus_of(setup), setup.nodes));  // that share a node's memory and drives
  const double uplink =
      setup.drive_uplink_gbs > 0 ? setup.drive_uplink_gbs * kGiga : std::numeric_limits<double>::infinity();
  return {.link = host_link_rate(gpu),
          .updates = cost_constants().at("stack.host_update") * dram / ranks,
          .reads = std::min(stated_or(setup.drive_read_gbs, "ssd.read"), uplink) / ranks,
          .writes = std::min(stated_or(setup.drive_write_gbs, "ssd.write"), uplink) / ranks};
}

bool is_host_work(StackKernelSort sort) { return sort >= StackKernelSort::kToHost; }

double host_work_seconds(const StackKernel& kernel, const HostRates& rates) {
  switch (kernel.sort) {
    case StackKernelSort::kHostPass:
    case StackKernelSort::kHostUpdate: return kernel.bytes / rates.updates;
    case StackKernelSort::kFromDrive: return kernel.bytes / rates.reads;
    case StackKernelSort::kToDrive: return kernel.bytes / rates.writes;
    default: return kernel.bytes / rates.link;
  }
}

}  // namespace plimsoll
