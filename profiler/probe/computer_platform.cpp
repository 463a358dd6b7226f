#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/platform/cpu_workers.h"
#include "formats/machines/constant_table.h"
#include "profiler/probe/shared_demands.h"
#include "profiler/probe/this_computer.h"

namespace plimsoll {
namespace {

constexpr double kGiga = 1e9;
constexpr double kMega = 1e6;
constexpr std::int64_t kMostThreads = 1024;

/// Sizes of the two arenas.
struct Arenas {
  Bytes device;
  Bytes host;
};

tl::unexpected<Error> refuse(ErrorKind kind, std::string what, std::string remedy) {
  return fail({.kind = kind, .what = std::move(what), .where = {}, .remedy = std::move(remedy)});
}

/// What stays outside the arenas: a share of what is available, and never less than the program itself needs.
Bytes kept_free(const ThisComputer& computer) {
  const auto share = static_cast<std::int64_t>(static_cast<double>(computer.memory_available.count) *
                                               machine_defaults().at("host.reserved_share"));
  const auto program = static_cast<std::int64_t>(process_memory_constants().at("program.reserved") * kMiB.count);
  return std::min(computer.memory_available, Bytes(std::max(share, program)));
}

std::string available_text(const ThisComputer& computer) {
  return fmt::format("{} available ({})", to_text(computer.memory_available), computer.memory_bound);
}

Error too_much(const ThisComputer& computer, const Arenas& asked, Bytes usable) {
  const bool fills = asked.device + std::min(asked.host, kMaxParsedBytes - asked.device) <= usable;
  return {.kind = ErrorKind::kInfeasible,
          .what = fmt::format("{} of device memory and {} of host memory {} {}: of {}, {} are left to the program and others",
                              to_text(asked.device), to_text(asked.host),
                              fills ? "leave one of them nothing of" : "are more than", to_text(usable),
                              available_text(computer), to_text(kept_free(computer))),
          .where = {},
          .remedy = "ask for less with --device-memory and --ram, close other programs, or raise the limit"};
}

/// Halves what is usable unless the user says otherwise.
Result<Arenas> divide_memory(const ThisComputer& computer, const ComputerOptions& options,
                             std::vector<std::string>& defaults) {
  const Bytes kept = kept_free(computer);
  const Bytes usable = computer.memory_available - kept;
  defaults.push_back(fmt::format("{} of {} left free (assumed)", to_text(kept), available_text(computer)));
  for (const auto size : {options.device_memory, options.ram}) {
    if (size && *size <= Bytes(0)) return refuse(ErrorKind::kInput, "a memory size must be positive", "");
  }
  Arenas arenas{.device = options.device_memory.value_or(Bytes(0)), .host = options.ram.value_or(Bytes(0))};
  const Bytes left = usable - std::min(usable, arenas.device) - std::min(usable, arenas.host);
  if (!options.device_memory) arenas.device = options.ram ? left : Bytes(usable.count / 2);
  if (!options.ram) arenas.host = options.device_memory ? left : usable - arenas.device;
  const bool beyond = arenas.device > usable || arenas.host > usable - arenas.device;
  if (beyond || arenas.device <= Bytes(0) || arenas.host <= Bytes(0)) return fail(too_much(computer, arenas, usable));
  if (!options.device_memory) defaults.push_back(fmt::format("{} of memory play the device", to_text(arenas.device)));
  return arenas;
}

double flops_per_cycle(const ThisComputer& computer) {
  const auto& defaults = machine_defaults();
  if (computer.avx512) return defaults.at("cpu.flops_per_cycle.avx512");
  return defaults.at(computer.avx2 ? "cpu.flops_per_cycle.avx2" : "cpu.flops_per_cycle.other");
}

/// What computes, with rates that its threads could reach at most.
Processor processor_of(const ThisComputer& computer, std::int64_t threads, double dram) {
  const auto busy = static_cast<double>(std::min(threads, computer.physical_cores));
  return {.name = {},
          .kind = ProcessorKind::kCpu,
          .space = {},
          .cores = threads,
          .bytes_per_second = dram,
          .fp32_flops = busy * computer.mhz * kMega * flops_per_cycle(computer),
          .calibration_name = cpu_calibration_name(computer.cpu_model, threads)};
}

/// What memory and copies reach, measured or assumed.
struct Rates {
  double dram = 0;
  double copy = 0;
  Nanoseconds copy_latency;
  SharedDemands demands;
};

Rates assumed_rates(const ThisComputer& computer, std::int64_t threads) {
  const auto& defaults = machine_defaults();
  const auto cores = static_cast<double>(computer.logical_cores);
  return {.dram = std::min(defaults.at("dram.geforce"), cores * defaults.at("dram.per_core")) * kGiga,
          .copy = defaults.at("dram.per_core") * kGiga / 2,
          .copy_latency = from_seconds(defaults.at("copy.latency") * 1e-6),
          .demands = assumed_demands(threads, cores)};
}

Rates measured_rates(const ThisComputer& computer, std::int64_t threads, const MachineProbe& probe) {
  const auto cores = static_cast<double>(computer.logical_cores);
  return {.dram = dram_rate(probe.memory),
          .copy = probe.memory.copy.median,
          .copy_latency = probe.memory.copy_latency,
          .demands = threads == probe.workers ? measured_demands(probe.memory, threads, cores)
                                              : assumed_demands(threads, cores)};
}

/// A copy within one memory reads and writes each byte.
void add_copies(Platform& platform, SpaceId device, SpaceId host, ResourceId dram, const Rates& rates) {
  Link link{.bytes_per_second = rates.copy,
            .latency = rates.copy_latency,
            .path = {{.resource = dram, .amount = 2.0}}};
  link.name = "host->gpu0";
  link.from = host;
  link.to = device;
  add_link(platform, link);
  link.name = "gpu0->host";
  std::swap(link.from, link.to);
  add_link(platform, link);
}

/// A queue whose work asks for cores and, where that was measured, for DRAM.
void add_shared_queue(Platform& platform, std::string name, QueueKind kind, ProcessorId processor,
                      std::vector<Demand> demands, double weight) {
  std::erase_if(demands, [](const Demand& demand) { return demand.amount <= 0; });
  const QueueId id = add_queue(platform, std::move(name), kind, processor, std::move(demands));
  platform.queues[id.index].weight = weight;
}

void add_queues(Platform& platform, ProcessorId gpu0, ProcessorId cpu, ResourceId cores, ResourceId dram,
                const SharedDemands& d) {
  add_shared_queue(platform, "compute", QueueKind::kCompute, gpu0, {{cores, d.compute_cores}, {dram, d.compute_dram}},
                   1.0);
  add_shared_queue(platform, "h2d", QueueKind::kCopy, gpu0, {{cores, d.copy_cores}}, d.copy_weight);
  add_shared_queue(platform, "d2h", QueueKind::kCopy, gpu0, {{cores, d.copy_cores}}, d.copy_weight);
  add_shared_queue(platform, "cpu", QueueKind::kHostCompute, cpu, {{cores, d.cpu_cores}, {dram, d.cpu_dram}},
                   d.cpu_weight);
  add_host_work_queues(platform, cpu, cores);
}

Platform build_platform(const ThisComputer& computer, const Arenas& arenas, std::int64_t threads, const Rates& rates,
                        const std::optional<AttachedDrive>& drive) {
  Platform platform;
  platform.name = fmt::format("this computer ({}, {} cores)", computer.cpu_model, computer.logical_cores);
  const SpaceId device = add_space(platform, "gpu0", SpaceKind::kDevice, arenas.device, arenas.device);
  const SpaceId host = add_space(platform, "host", SpaceKind::kHost, arenas.host, arenas.host);
  const ResourceId dram = add_resource(platform, "dram", rates.dram);
  const ResourceId cores = add_resource(platform, "cores", static_cast<double>(computer.logical_cores));
  Processor processor = processor_of(computer, threads, rates.dram);
  processor.name = "gpu0";
  processor.space = device;
  const ProcessorId gpu0 = add_processor(platform, processor);
  processor.name = "cpu";
  processor.space = host;
  const ProcessorId cpu = add_processor(platform, processor);
  add_copies(platform, device, host, dram, rates);
  add_queues(platform, gpu0, cpu, cores, dram, rates.demands);
  if (drive) add_drive(platform, *drive, device, host, cpu, dram);
  return platform;
}

}  // namespace

Result<DescribedPlatform> computer_platform(const ThisComputer& computer, const ComputerOptions& options) {
  const std::int64_t threads = options.threads.value_or(computer.physical_cores);
  if (threads < 1 || threads > kMostThreads) {
    return refuse(ErrorKind::kInput, fmt::format("{} threads cannot compute", threads),
                  fmt::format("give 1 to {}", kMostThreads));
  }
  DescribedPlatform described;
  const auto arenas = divide_memory(computer, options, described.defaults);
  if (!arenas) return tl::make_unexpected(arenas.error());
  const Rates rates =
      options.probe != nullptr ? measured_rates(computer, threads, *options.probe) : assumed_rates(computer, threads);
  described.defaults.push_back(
      options.probe != nullptr
          ? fmt::format("{:.1f} GB/s DRAM measured by plimsoll machines --probe on {}", rates.dram / kGiga,
                        options.probe->date)
          : fmt::format("{} GB/s DRAM assumed; plimsoll machines --probe measures it", rates.dram / kGiga));
  described.platform = build_platform(computer, *arenas, threads, rates, options.drive);
  return described;
}

}  // namespace plimsoll
