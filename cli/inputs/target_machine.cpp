#include "cli/inputs/target_machine.h"

#include <fmt/format.h>

#include "cli/inputs/load_plan.h"
#include "cli/inputs/own_drive.h"
#include "cli/inputs/probe_cache.h"
#include "formats/machines/catalogue_platform.h"
#include "formats/machines/machine_json.h"
#include "formats/machines/machine_parts.h"
#include "formats/text/read_text_file.h"
#include "profiler/probe/this_computer.h"

namespace plimsoll {
namespace {

constexpr Bytes kLargestMachineFile{std::int64_t{1} << 24};

TargetMachine described(DescribedPlatform platform) {
  TargetMachine machine{.platform = std::move(platform.platform)};
  machine.notes = std::move(platform.defaults);
  machine.precision_reason = "the CPU backend computes in fp32";
  return machine;
}

/// With the precision that is best on this GPU.
TargetMachine advised(DescribedPlatform platform, const GpuEntry& gpu) {
  TargetMachine machine = described(std::move(platform));
  const PrecisionAdvice advice = default_precision(gpu);
  machine.precision = advice.precision;
  machine.precision_reason = advice.reason;
  return machine;
}

Result<TargetMachine> catalogued(const MachineFlags& flags, const MachineOptions& options) {
  const auto gpu = find_gpu(built_in_gpu_catalogue(), flags.gpu);
  if (!gpu) return fail(gpu.error());
  auto platform = gpu_platform(*gpu, options);
  if (!platform) return fail(platform.error());
  TargetMachine machine = advised(std::move(*platform), *gpu);
  if (is_alias(*gpu, flags.gpu)) {
    machine.notes.push_back(fmt::format("'{}' taken for the {}; write another board's name out", flags.gpu, gpu->name));
  }
  return machine;
}

/// The computer that a probe was made on, as it was then.
Result<TargetMachine> from_probe(const std::string& text, const std::string& path) {
  const auto probe = read_probe(text, path);
  if (!probe) return fail(probe.error());
  auto costs = costs_of(*probe);
  if (!costs) return fail(costs.error());
  TargetMachine machine = described({probe->platform, {}});
  machine.costs = std::move(*costs);
  machine.notes.push_back(fmt::format("costs measured by plimsoll machines --probe on {}", probe->date));
  return machine;
}

/// A GPU of the catalogue in its slot, and what is around it.
Result<TargetMachine> from_parts(const std::string& text, const std::string& path) {
  const auto parts = read_machine_parts(text, path);
  if (!parts) return fail(parts.error());
  const auto gpu = gpu_of(parts->gpus.front().name, parts->gpus.front().stated, path);
  if (!gpu) return fail(gpu.error());
  auto platform = platform_of(*parts, *gpu);
  if (!platform) return fail(platform.error());
  return advised(std::move(*platform), *gpu);
}

Result<TargetMachine> from_file(const std::string& path) {
  const auto text = read_text_file(path, kLargestMachineFile);
  if (!text) return fail(text.error());
  if (looks_like_probe(*text)) return from_probe(*text, path);  // which has parts, too
  if (states_parts(*text)) return from_parts(*text, path);
  auto platform = read_machine(*text, path);
  if (!platform) return fail(platform.error());
  TargetMachine machine = described({std::move(*platform), {}});
  const auto compute = machine.platform.queue("compute");
  if (compute && machine.platform.at(machine.platform.at(*compute).processor).bf16_flops > 0) {
    machine.precision = Precision::kBf16Mixed;
    machine.precision_reason = "the machine file gives its processor bf16 matrix units";
  }
  return machine;
}

Result<TargetMachine> own_computer(const MachineFlags& flags, const MachineOptions& options) {
  const ThisComputer computer = probe_this_computer();
  const KnownProbe known = find_probe(computer);
  std::vector<std::string> drive_notes;
  const auto drive = find_own_drive(flags, options, known.probe ? &*known.probe : nullptr, drive_notes);
  if (!drive) return fail(drive.error());
  std::optional<std::int64_t> threads;
  if (flags.cpu_cores) threads = *flags.cpu_cores;
  auto platform = computer_platform(computer, {.device_memory = options.device_memory,
                                               .ram = options.ram,
                                               .threads = threads,
                                               .drive = *drive,
                                               .probe = known.probe ? &*known.probe : nullptr});
  if (!platform) return fail(platform.error());
  TargetMachine machine = described(std::move(*platform));
  machine.notes.push_back(known.note);
  machine.notes.insert(machine.notes.end(), drive_notes.begin(), drive_notes.end());
  if (!known.probe) return machine;
  auto costs = costs_of(*known.probe);
  if (!costs) return fail(costs.error());
  machine.costs = std::move(*costs);
  return machine;
}

}  // namespace

Result<void> check_file_alone(const MachineFlags& flags) {
  if (flags.machine_file.empty()) return {};
  const std::pair<const char*, bool> given[] = {
      {"--on", !flags.gpu.empty()},         {"--ram", !flags.ram.empty()},
      {"--ssd", !flags.ssd.empty()},        {"--direct-storage", flags.direct_storage},
      {"--pcie", !flags.pcie.empty()},
      {"--cpu-cores", flags.cpu_cores.has_value()}, {"--dram-bandwidth", flags.dram_gbs.has_value()},
      {"--device-memory", !flags.device_memory.empty()}, {"--desktop", flags.desktop},
      {"--os", flags.os != "linux"},        {"--gpus", flags.gpus != 1}};
  for (const auto& [option, is_given] : given) {
    if (!is_given) continue;
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("{} does not go with --machine, whose file states the machine", option),
                 .where = {},
                 .remedy = fmt::format("leave {} out, or change {}", option, flags.machine_file)});
  }
  return {};
}

Result<TargetMachine> find_target_machine(const MachineFlags& flags, const std::string& calibration) {
  const auto options = read_machine_options(flags);
  if (!options) return fail(options.error());
  if (const auto alone = check_file_alone(flags); !alone) return fail(alone.error());
  const bool own = flags.gpu.empty() || flags.gpu == "this";
  auto machine = !flags.machine_file.empty() ? from_file(flags.machine_file)
                 : own                       ? own_computer(flags, *options)
                                             : catalogued(flags, *options);
  if (!machine) return machine;
  auto costs = load_costs(calibration, machine->costs, machine->platform);
  if (!costs) return fail(costs.error());
  machine->costs = std::move(*costs);
  return machine;
}

}  // namespace plimsoll
