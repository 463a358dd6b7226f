#include "cli/commands/probe_command.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <filesystem>

#include "cli/commands.h"
#include "cli/commands/measure_gpu.h"
#include "cli/inputs/probe_cache.h"
#include "cli/print/output_file.h"
#include "formats/text/write_text_file.h"
#include "profiler/probe/installed_gpus.h"
#include "profiler/probe/others_cpu.h"
#include "session/probe/probe_machine.h"

namespace plimsoll {
namespace {

constexpr double kGiga = 1e9;

std::atomic<bool> stop_requested{false};

extern "C" void stop_probe(int) { stop_requested = true; }

void show_progress(const std::string& what, double done) {
  if (isatty(STDERR_FILENO) != 1) return;
  const auto end =
      done >= 1 ? std::string("\r\033[K") : fmt::format("\r\033[Kplimsoll: {:3.0f} %, {}", 100 * done, what);
  std::fputs(end.c_str(), stderr);
}

std::string rate_line(std::string_view name, const Spread& rate) {
  return fmt::format("  {:<34}{:>8.1f} GB/s  ({:.1f} to {:.1f})\n", name, rate.median / kGiga, rate.low / kGiga,
                     rate.high / kGiga);
}

std::string flops_line(std::string_view name, const Spread& rate) {
  return fmt::format("  {:<34}{:>8.1f} GFLOP/s  ({:.1f} to {:.1f})\n", name, rate.median / kGiga, rate.low / kGiga,
                     rate.high / kGiga);
}

std::string drive_lines(const ProbedDrive& drive) {
  return fmt::format("  drive of '{}', {}, after {} were written\n", drive.folder, drive.way, to_text(drive.filled)) +
         rate_line("  reads", drive.read) + rate_line("  writes", drive.write) +
         rate_line("  reads beside writes", drive.mixed_read) + rate_line("  writes beside reads", drive.mixed_write);
}

std::string cache_line(const CpuTopology& topology) {
  return topology.caches.empty() ? "" : fmt::format("  caches {}\n", caches_text(topology));
}

std::string gpu_lines(const MachineParts& parts) {
  std::string text;
  for (const GpuPart& gpu : parts.gpus) text += fmt::format("  GPU {}; NVLinks are not looked for\n", gpu_text(gpu));
  return text.empty() ? "  no GPU in a PCIe slot\n" : text;
}

std::string pair_line(std::string_view name, const PairSlowdown& pair) {
  return fmt::format("  {:<34}{:>8.2f} times its time alone, the copy {:.2f}\n", name, pair.work, pair.copy);
}

std::string probe_text(const MachineProbe& probe) {
  std::string text = fmt::format("{}: {} cores ({} physical), {}\n", probe.cpu_model, probe.logical_cores,
                                 probe.physical_cores, numa_text(probe.parts.numa_nodes));
  text += cache_line(probe.topology) + gpu_lines(probe.parts) + rate_line("all cores read", probe.memory.read);
  text += rate_line("all cores copy (read and written)", probe.memory.copy_traffic);
  text += rate_line("one core copies", probe.memory.copy);
  text += flops_line("matrix products, all cores", probe.product_flops);
  text += rate_line("the optimizer, all cores", probe.optimizer_bytes);
  text += pair_line("a matrix product beside a copy", probe.memory.product);
  text += pair_line("the optimizer beside a copy", probe.memory.optimizer);
  if (probe.drive) text += drive_lines(*probe.drive);
  return text + fmt::format("  {} costs of kernels, copies, host tasks and gaps (rates: median, and 5 to 95 %)\n",
                            probe.costs.size());
}

/// The probed machine with that GPU, in the slot where it was found or else as stated.
std::string parts_text(MachineParts parts, GpuPart gpu, bool stated_link) {
  const auto found = std::find_if(parts.gpus.begin(), parts.gpus.end(), [&](const GpuPart& other) { return other.name == gpu.name; });
  if (found != parts.gpus.end() && !stated_link) gpu = *found;
  if (found == parts.gpus.end() || stated_link) gpu.numa_node = std::nullopt;
  parts.name = gpu.name;
  parts.gpus = {gpu};
  return write_machine_parts(parts);
}

Result<std::string> where_kept() {
  auto kept = probe_cache_path();
  if (kept) std::filesystem::create_directories(std::filesystem::path(*kept).parent_path());
  return kept;
}

/// Says so when others worked meanwhile.
bool tell_disturbance(const MachineProbe& probe) {
  if (probe.others_cpu <= kDisturbingShare) return false;
  fmt::print(stderr, "plimsoll: others used {:.0f} % of the CPU during the measurement: numbers are too slow\n",
             100 * probe.others_cpu);
  return true;
}

}  // namespace

Result<ExitCode> probe_this_machine(const ProbeRequest& request) {
  const auto output = request.output.empty() ? where_kept() : Result<std::string>(request.output);
  if (!output) return fail(output.error());
  if (const auto usable = check_replaceable(*output, FileKind::kJson); !usable) return fail(usable.error());
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, stop_probe);
  const auto probe = probe_machine(
      {.ssd_folder = request.ssd_folder,
       .date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))),
       .tool_version = version()},
      show_progress, stop_requested);
  if (!probe) return fail(probe.error());
  fmt::print("{}", request.json ? write_probe(*probe) : probe_text(*probe));
  if (tell_disturbance(*probe) && request.output.empty()) {
    fmt::print(stderr, "  not kept; close other programs and probe again, or keep it all the same with -o FILE\n");
    return ExitCode::kMissed;
  }
  write_text_file(*output, request.gpu ? parts_text(probe->parts, *request.gpu, request.stated_link) : write_probe(*probe));
  fmt::print(stderr, "plimsoll: wrote {}\n", *output);
  if (!probe->parts.gpus.empty()) measure_gpu(gpu_rates_path(*output), probe->physical_cores);
  return ExitCode::kDone;
}

}  // namespace plimsoll
