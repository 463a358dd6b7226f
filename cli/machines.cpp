#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/machine_flags.h"
#include "cli/output_file.h"
#include "cli/probe_command.h"
#include "formats/machines/gpu_catalogue.h"
#include "formats/machines/machine_parts.h"
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

}  // namespace

void add_machines(CLI::App& app, ExitCode& code) {
  auto json = std::make_shared<bool>(false);
  auto probe = std::make_shared<bool>(false);
  auto output = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("machines", "List the GPUs of the catalogue, or measure this computer");
  command->footer("Example: plimsoll machines | grep 2060; plimsoll machines --probe;\n"
                  "         plimsoll machines --on \"RTX 2060 6GB\" --ram 16GiB -o desk.json");
  command->add_flag("--json", *json, "machine-readable answer, with the source of each row");
  CLI::Option* measure = command->add_flag(
      "--probe", *probe,
      "measure this computer (and the drive of --ssd-folder, after writing 4 GiB to it); fit, plan and run use it");
  command->add_option("-o,--output", *output, "where the probe goes (default: the cache), or with --on the machine's parts");
  auto machine = std::make_shared<MachineFlags>();
  add_machine_flags(*command, *machine);
  command->callback([json, probe, output, machine, measure, &code] {
    if (!machine->gpu.empty() && !output->empty() && !*probe) {
      const auto ended = write_parts(*machine, *output);
      code = ended ? *ended : report_error(ended.error());
      return;
    }
    if ((!machine->gpu.empty() || !output->empty()) && measure->count() == 0) {
      code = report_error({.kind = ErrorKind::kInput, .what = "a machine file needs both --on GPU and -o FILE", .where = {}, .remedy = {}});
      return;
    }
    if (*probe) {
      const auto ended = probe_this_machine(*output, machine->ssd_folder, *json);
      code = ended ? *ended : report_error(ended.error());
      return;
    }
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    if (!*json)
      fmt::print("{:<22}{:<12}{:>12}{:>10}{:>10}{:>10}{:>10}\n", "GPU", "generation", "memory", "GB/s", "fp32 TF",
                 "fp16 TF", "bf16 TF");
    for (const GpuEntry& gpu : built_in_gpu_catalogue()) {
      if (*json) {
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
    if (*json) fmt::print("{}\n", rows.dump(2));
    code = ExitCode::kDone;
  });
}

}  // namespace plimsoll
