#include "profiler/probe/this_computer.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

#include "formats/machines/available_memory.h"
#include "profiler/probe/system_texts.h"

namespace plimsoll {
namespace {

using Path = std::filesystem::path;

constexpr std::size_t kMostCpus = 1 << 16;

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

/// Numbers of the logical cores that the scheduler may use for this process.
std::vector<std::size_t> allowed_cpus() {
  for (std::size_t count = CPU_SETSIZE; count <= kMostCpus; count *= 2) {
    std::vector<cpu_set_t> set(count / CPU_SETSIZE);
    const std::size_t bytes = set.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, set.data()) != 0) {
      if (errno == EINVAL) continue;  // the kernel knows more cores than the set holds
      break;
    }
    std::vector<std::size_t> cpus;
    for (std::size_t cpu = 0; cpu < count; ++cpu) {
      if (CPU_ISSET_S(cpu, bytes, set.data())) cpus.push_back(cpu);
    }
    return cpus;
  }
  throw EnvironmentError(
      {.kind = ErrorKind::kEnvironment, .what = "sched_getaffinity failed", .where = {}, .remedy = {}});
}

std::int64_t physical_among(const std::vector<std::size_t>& cpus) {
  std::set<std::string> cores;
  for (const auto cpu : cpus) {
    const auto siblings = text_of(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu));
    cores.insert(siblings.value_or(fmt::format("cpu{}", cpu)));
  }
  return static_cast<std::int64_t>(cores.size());
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

std::vector<CacheLevel> cache_levels() {
  std::vector<CacheLevel> caches;
  for (int i = 0;; ++i) {
    const Path index = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}", i);
    const auto type = text_of(index / "type");
    const auto level = text_of(index / "level");
    const auto size = text_of(index / "size");
    if (!type || !level || !size) return caches;
    const auto bytes = parse_cache_size(*size);
    if (!bytes || type->starts_with("Instruction") || level->empty()) continue;
    caches.push_back({.level = (*level)[0] - '0', .bytes = *bytes});
  }
}

}  // namespace

ThisComputer probe_this_computer() {
  const auto cpu = parse_cpuinfo(proc_text("/proc/cpuinfo"));
  const auto memory = proc_text("/proc/meminfo");
  const auto membership = text_of("/proc/self/cgroup").value_or("");
  const auto cpus = allowed_cpus();
  const double quota = cgroup_cores(membership).value_or(static_cast<double>(cpus.size()));
  const auto at_most = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::floor(quota)));
  const AvailableMemory available = available_memory();
  return {.cpu_model = cpu.model.empty() ? "unknown CPU" : cpu.model,
          .logical_cores = std::min(static_cast<std::int64_t>(cpus.size()), at_most),
          .physical_cores = std::min(physical_among(cpus), at_most),
          .mhz = cpu.mhz,
          .avx2 = cpu.avx2,
          .avx512 = cpu.avx512,
          .memory_total = parse_meminfo(memory, "MemTotal").value_or(Bytes(0)),
          .memory_available = available.bytes,
          .memory_bound = available.bound,
          .caches = cache_levels(),
          .numa_nodes = parse_cpu_list(text_of("/sys/devices/system/node/online").value_or("0")).value_or(1)};
}

Result<DescribedPlatform> this_computer_platform(const ComputerOptions& options) {
  return computer_platform(probe_this_computer(), options);
}

}  // namespace plimsoll
