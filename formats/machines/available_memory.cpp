#include "formats/machines/available_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>

#include "core/base/error.h"
#include "formats/machines/address_space.h"

namespace plimsoll {
namespace {

std::optional<std::int64_t> read_number(const std::string& path) {
  std::ifstream file(path);
  std::int64_t number = 0;
  if (!(file >> number)) return std::nullopt;  // also "max", which sets no limit
  return number;
}

/// The number after `key` in a file of "key value" lines.
std::optional<std::int64_t> read_field(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    std::int64_t number = 0;
    if (word == key && file >> number) return number;
  }
  return std::nullopt;
}

/// What one control group leaves: its limit less its use, where cached file pages that nobody uses count as free.
std::optional<std::int64_t> left_in(const std::string& folder, const char* limit_file, const char* usage_file,
                                    const char* cache_field) {
  const auto limit = read_number(folder + limit_file);
  const auto usage = read_number(folder + usage_file);
  if (!limit || !usage) return std::nullopt;
  const std::int64_t cached = read_field(folder + "/memory.stat", cache_field).value_or(0);
  return std::max<std::int64_t>(0, *limit - *usage + cached);
}

/// Folders and names of the group and of all groups that it lies in, down to the mount itself.
template <typename Visit>
void for_each_ancestor(const std::string& mount, std::string group, Visit visit) {
  while (true) {
    visit(mount + (group == "/" ? "" : group), group.empty() ? "/" : group);
    if (group.empty() || group == "/") return;
    group.resize(group.rfind('/'));
  }
}

}  // namespace

AvailableMemory available_memory(const std::string& root) {
  const auto free = read_field(root + "/proc/meminfo", "MemAvailable:");
  if (!free) {
    throw EnvironmentError({.kind = ErrorKind::kEnvironment,
                            .what = "the kernel does not say how much memory is available",
                            .where = root + "/proc/meminfo",
                            .remedy = {}});
  }
  AvailableMemory least{.bytes = Bytes(*free * 1024), .bound = "MemAvailable"};
  const auto lower = [&](std::optional<std::int64_t> left, const std::string& group) {
    if (left && Bytes(*left) < least.bytes) least = {Bytes(*left), fmt::format("limit of the control group {}", group)};
  };
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "4:memory:/path" (version 1) or "0::/path" (version 2)
    const std::size_t controllers = line.find(':') + 1;
    const std::size_t path = line.find(':', controllers) + 1;
    if (controllers == 0 || path == 0) continue;
    const std::string names = "," + line.substr(controllers, path - controllers - 1) + ",";
    const std::string group = line.substr(path);
    if (names == ",,") {
      for_each_ancestor(root + "/sys/fs/cgroup", group, [&](const std::string& folder, const std::string& name) {
        lower(left_in(folder, "/memory.max", "/memory.current", "inactive_file"), name);
      });
    } else if (names.find(",memory,") != std::string::npos) {
      for_each_ancestor(root + "/sys/fs/cgroup/memory", group, [&](const std::string& folder, const std::string& name) {
        lower(left_in(folder, "/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file"), name);
      });
    }
  }
  if (const auto left = address_space_left(root); left && *left < least.bytes)
    least = {*left, "limit of the address space (ulimit -v)"};
  return least;
}

}  // namespace plimsoll
