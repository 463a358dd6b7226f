#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/commands/probe_command.h"
#include "cli/inputs/this_machine.h"
#include "cli/options/machine_flags.h"
#include "cli/options/workload_flags.h"
#include "cli/print/output_file.h"
#include "cli/program/answer_error.h"
#include "core/base/nearest_names.h"
#include "formats/machines/gpu_catalogue.h"
#include "formats/machines/machine_parts.h"
#include "formats/text/csv.h"
#include "formats/text/json_text.h"
#include "formats/text/write_text_file.h"

namespace plimsoll {
namespace {

std::string rate(const std::optional<double>& value) { return value ? fmt::format("{:.1f}", *value) : "-"; }

nlohmann::ordered_json number(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

Result<ExitCode> write_parts(const MachineFlags& flags, const std::string& output) {
  if (const auto usable = check_replaceable(output, FileKind::kJson); !usable) return fail(usable.error());
  const auto gpu = find_gpu(built_in_gpu_catalogue(), flags.gpu);
  if (!gpu) return fail(gpu.error());
  const auto options = read_machine_options(flags);
  if (!options) return fail(options.error());
  const auto parts = parts_of(*gpu, *options);
  if (!parts) return fail(parts.error());
  write_text_file(output, write_machine_parts(*parts));
  fmt::print(stderr, "plimsoll: wrote {}; use it with --machine {}\n", output, output);
  return ExitCode::kDone;
}

/// What was measured stands in the parts, so that an option which states it would be ignored.
Result<void> check_beside_probe(const MachineFlags& flags) {
  const std::pair<const char*, bool> given[] = {{"--ram", !flags.ram.empty()},
                                                {"--ssd", !flags.ssd.empty()},
                                                {"--cpu-cores", flags.cpu_cores.has_value()},
                                                {"--dram-bandwidth", flags.dram_gbs.has_value()},
                                                {"--device-memory", !flags.device_memory.empty()},
                                                {"--desktop", flags.desktop}};
  for (const auto& [option, is_given] : given) {
    if (!is_given) continue;
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("{} does not go with --probe, which measures this computer as it is", option),
                 .where = {},
                 .remedy = fmt::format("leave {} out", option)});
  }
  return {};
}

/// The GPU of --on as the catalogue and --pcie have it; nothing without --on.
Result<std::optional<GpuPart>> stated_gpu(const MachineFlags& flags) {
  if (flags.gpu.empty()) return std::nullopt;
  const auto gpu = find_gpu(built_in_gpu_catalogue(), flags.gpu);
  if (!gpu) return fail(gpu.error());
  const auto options = read_machine_options(flags);
  if (!options) return fail(options.error());
  const auto parts = parts_of(*gpu, *options);
  if (!parts) return fail(parts.error());
  return parts->gpus.front();
}

Result<ExitCode> probe(const MachineFlags& flags, const std::string& output, bool json) {
  if (const auto alone = check_beside_probe(flags); !alone) return fail(alone.error());
  auto gpu = stated_gpu(flags);
  if (!gpu) return fail(gpu.error());
  return probe_this_machine({.output = output,
                             .ssd_folder = flags.ssd_folder,
                             .gpu = std::move(*gpu),
                             .stated_link = !flags.pcie.empty(),
                             .json = json});
}

/// Those with `part` in their name, or in one of their other names.
Result<std::vector<GpuEntry>> gpus_with(const std::string& part) {
  std::vector<GpuEntry> found;
  for (const GpuEntry& gpu : built_in_gpu_catalogue()) {
    const auto has_part = [&](const std::string& name) { return has_in_name(name, part); };
    if (has_part(gpu.name) || std::ranges::any_of(gpu.aliases, has_part)) found.push_back(gpu);
  }
  if (!found.empty()) return found;
  const auto named = find_gpu(built_in_gpu_catalogue(), part);  // "NVIDIA GeForce RTX 3060 12GB"
  if (!named) return fail(named.error());
  return std::vector<GpuEntry>{*named};
}

ExitCode list_gpus(const std::vector<GpuEntry>& gpus, bool json) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  if (!json)
    fmt::print("{:<22}{:<12}{:>12}{:>10}{:>10}{:>10}{:>10}\n", "GPU", "generation", "memory", "GB/s", "fp32 TF",
               "fp16 TF", "bf16 TF");
  for (const GpuEntry& gpu : gpus) {
    if (json) {
      rows.push_back({{"name", gpu.name},
                      {"architecture", gpu.architecture},
                      {"memory_bytes", gpu.memory.count},
                      {"memory_gbs", gpu.memory_gbs},
                      {"fp32_tflops", number(gpu.fp32_tflops)},
                      {"fp16_tflops", number(gpu.fp16_tflops)},
                      {"bf16_tflops", number(gpu.bf16_tflops)},
                      {"source", gpu.source}});
    } else {
      fmt::print("{:<22}{:<12}{:>12}{:>10.0f}{:>10}{:>10}{:>10}\n", gpu.name, gpu.architecture, to_text(gpu.memory),
                 gpu.memory_gbs, rate(gpu.fp32_tflops), rate(gpu.fp16_tflops), rate(gpu.bf16_tflops));
    }
  }
  if (json) fmt::print("{}\n", rows.dump(2));
  return ExitCode::kDone;
}

ExitCode list_gpus_as_csv(const std::vector<GpuEntry>& gpus) {
  const auto known = [](const std::optional<double>& value) { return value ? json_number(*value) : std::string(); };
  fmt::print("gpu,architecture,memory_bytes,memory_gbs,fp32_tflops,fp16_tflops,bf16_tflops,source\n");
  for (const GpuEntry& gpu : gpus) {
    fmt::print("{},{},{},{},{},{},{},{}\n", csv_field(gpu.name), csv_field(gpu.architecture), gpu.memory.count,
               json_number(gpu.memory_gbs), known(gpu.fp32_tflops), known(gpu.fp16_tflops), known(gpu.bf16_tflops),
               csv_field(gpu.source));
  }
  return ExitCode::kDone;
}

Result<ExitCode> print_this(const MachineFlags& flags, const std::string& output) {
  if (output.empty() && flags.gpu.empty() && flags.machine_file.empty()) return print_this_machine(flags);
  return fail({.kind = ErrorKind::kInput, .what = "--this prints this computer: --on, --machine and -o do not go with it",
               .where = {}, .remedy = "leave them out"});
}

/// The catalogue has all GPUs as they are: what a machine has around one would be ignored.
Result<void> check_list(const CLI::App& command) {
  for (const std::string& option : given_options(command)) {
    if (option == "--json" || option == "--csv" || option == "--this" || option == "NAME") continue;
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("{} would be ignored by the list of GPUs", option),
                 .where = {},
                 .remedy = "describe a machine with --on GPU and -o FILE, or this computer with --this"});
  }
  return {};
}

/// What was asked for: the catalogue, a machine file, or a probe.
Result<ExitCode> answer(const CLI::App& command, const MachineFlags& flags, const std::string& output, const std::string& part,
                        bool probes, bool json, bool csv) {
  const bool file = !flags.gpu.empty() && !output.empty();
  if (!file && (!flags.gpu.empty() || (!output.empty() && !probes))) {
    return fail({.kind = ErrorKind::kInput, .what = "a machine file needs both --on GPU and -o FILE", .where = {}, .remedy = {}});
  }
  if (!part.empty() && (probes || file)) {
    return fail({.kind = ErrorKind::kInput, .what = fmt::format("'{}' would be ignored: it chooses from the list of GPUs", part),
                 .where = {}, .remedy = "leave it out, or name the GPU with --on"});
  }
  if (probes) return probe(flags, output, json);
  if (file) return write_parts(flags, output);
  if (const auto goes = check_list(command); !goes) return fail(goes.error());
  const auto gpus = gpus_with(part);
  if (!gpus) return fail(gpus.error());
  return csv ? list_gpus_as_csv(*gpus) : list_gpus(*gpus, json);
}

}  // namespace

void add_machines(CLI::App& app, ExitCode& code) {
  auto json = std::make_shared<bool>(false);
  auto probe = std::make_shared<bool>(false);
  auto output = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("machines", "List the GPUs of the catalogue, or measure this computer");
  command->footer("Example: plimsoll machines 2060; plimsoll machines --probe --ssd-folder /data;\n"
                  "         plimsoll machines --on \"RTX 2060 6GB\" --ram 16GiB -o desk.json;\n"
                  "         plimsoll machines --probe --on \"RTX 2060 6GB\" -o desk.json");
  command->add_flag("--json", *json, "machine-readable answer, with the source of each row");
  command->add_flag(
      "--probe", *probe,
      "measure this computer (and the drive of --ssd-folder, after writing 4 GiB to it); fit, plan and run use it");
  auto part = std::make_shared<std::string>();
  command->add_option("NAME", *part, "only GPUs that have this in their name");
  auto csv = std::make_shared<bool>(false);
  command->add_flag("--csv", *csv, "the catalogue as CSV")->excludes("--json")->excludes("--probe");
  auto own = std::make_shared<bool>(false);
  command->add_flag("--this", *own, "this computer under --ram, --device-memory, --ssd and so on, with its probe, as JSON")
      ->excludes("--probe")->excludes("--json")->excludes("NAME");
  command->add_option("-o,--output", *output,
                      "where the probe goes (default: the cache), or with --on the machine's parts, with --probe as measured");
  auto machine = std::make_shared<MachineFlags>();
  add_machine_flags(*command, *machine);
  command->callback([json, csv, probe, own, output, part, machine, command, &code] {
    const auto ended =
        *own ? print_this(*machine, *output) : answer(*command, *machine, *output, *part, *probe, *json, *csv);
    code = ended ? *ended : report_error(*command, ended.error());
  });
}

}  // namespace plimsoll
