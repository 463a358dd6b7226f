#include "cli/target_machine.h"

#include <fmt/format.h>

#include "cli/load_plan.h"
#include "formats/machines/catalogue_platform.h"
#include "formats/machines/machine_json.h"
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

Result<TargetMachine> catalogued(const MachineFlags& flags, const MachineOptions& options) {
  const auto gpu = find_gpu(built_in_gpu_catalogue(), flags.gpu);
  if (!gpu) return fail(gpu.error());
  auto platform = gpu_platform(*gpu, options);
  if (!platform) return fail(platform.error());
  TargetMachine machine = described(std::move(*platform));
  const PrecisionAdvice advice = default_precision(*gpu);
  machine.precision = advice.precision;
  machine.precision_reason = advice.reason;
  return machine;
}

Result<TargetMachine> from_file(const std::string& path) {
  const auto text = read_text_file(path, kLargestMachineFile);
  if (!text) return fail(text.error());
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
  if (options.ssd) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "--ssd goes with --on GPU: the CPU backend does not execute SSD traffic",
                 .where = {},
                 .remedy = "leave --ssd out"});
  }
  std::optional<std::int64_t> threads;
  if (flags.cpu_cores) threads = *flags.cpu_cores;
  auto platform =
      this_computer_platform({.device_memory = options.device_memory, .ram = options.ram, .threads = threads});
  if (!platform) return fail(platform.error());
  return described(std::move(*platform));
}

}  // namespace

Result<TargetMachine> find_target_machine(const MachineFlags& flags, const std::string& calibration) {
  const auto options = read_machine_options(flags);
  if (!options) return fail(options.error());
  const bool own = flags.gpu.empty() || flags.gpu == "this";
  auto machine = !flags.machine_file.empty() ? from_file(flags.machine_file)
                 : own                       ? own_computer(flags, *options)
                                             : catalogued(flags, *options);
  if (!machine) return machine;
  auto costs = load_costs(calibration);
  if (!costs) return fail(costs.error());
  machine->costs = std::move(*costs);
  return machine;
}

}  // namespace plimsoll
