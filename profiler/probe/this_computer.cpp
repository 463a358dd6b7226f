#include "profiler/probe/this_computer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include "formats/machines/available_memory.h"
#include "profiler/probe/hardware_topology.h"
#include "profiler/probe/installed_gpus.h"
#include "profiler/probe/system_texts.h"

namespace plimsoll {
namespace {

using Path = std::filesystem::path;

/// The whole file, or nothing when it cannot be read.
std::optional<std::string> text_of(const Path& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string proc_text(const char* path) {
  auto text = text_of(path);
  if (!text || text->empty()) {
    throw EnvironmentError(
        {.kind = ErrorKind::kEnvironment, .what = "cannot be read", .where = path, .remedy = "mount /proc"});
  }
  return std::move(*text);
}

/// The file `name` in the process's cgroup and in all those around it, innermost first.
std::vector<std::string> cgroup_texts(const std::string& membership, std::string_view controller,
                                      std::string_view name) {
  const auto group = parse_cgroup_path(membership, controller);
  std::vector<std::string> texts;
  if (!group) return texts;
  const Path root = Path("/sys/fs/cgroup") / controller;
  for (Path path = Path(*group).relative_path();; path = path.parent_path()) {
    if (auto text = text_of(root / path / name)) texts.push_back(std::move(*text));
    if (path.empty()) return texts;
  }
}

std::optional<double> cgroup_cores(const std::string& membership) {
  std::optional<double> least;
  const auto bound = [&](std::optional<double> cores) {
    if (cores) least = std::min(least.value_or(*cores), *cores);
  };
  for (const auto& text : cgroup_texts(membership, "", "cpu.max")) bound(parse_cpu_max(text));
  const auto quotas = cgroup_texts(membership, "cpu", "cpu.cfs_quota_us");
  const auto periods = cgroup_texts(membership, "cpu", "cpu.cfs_period_us");
  for (std::size_t i = 0; i < std::min(quotas.size(), periods.size()); ++i)
    bound(parse_cpu_max(quotas[i] + " " + periods[i]));
  return least;
}

}  // namespace

ThisComputer probe_this_computer() {
  const auto cpu = parse_cpuinfo(proc_text("/proc/cpuinfo"));
  const auto memory = proc_text("/proc/meminfo");
  const auto membership = text_of("/proc/self/cgroup").value_or("");
  CpuTopology topology = hardware_topology();
  const double quota = cgroup_cores(membership).value_or(static_cast<double>(topology.threads));
  const auto at_most = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::floor(quota)));
  const AvailableMemory available = available_memory();
  return {.cpu_model = cpu.model.empty() ? "unknown CPU" : cpu.model,
          .logical_cores = std::min(topology.threads, at_most),
          .physical_cores = std::min(topology.cores, at_most),
          .mhz = cpu.mhz,
          .avx2 = cpu.avx2,
          .avx512 = cpu.avx512,
          .memory_total = parse_meminfo(memory, "MemTotal").value_or(Bytes(0)),
          .memory_available = available.bytes,
          .memory_bound = available.bound,
          .topology = std::move(topology),
          .gpus = installed_gpus()};
}

Result<DescribedPlatform> this_computer_platform(const ComputerOptions& options) {
  return computer_platform(probe_this_computer(), options);
}

}  // namespace plimsoll
