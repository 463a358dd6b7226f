#include "formats/machines/address_space.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string_view>

namespace plimsoll {
namespace {

/// "Max address space         200000000            unlimited            bytes": the first of the two is in force
/// (proc(5)).
std::optional<std::int64_t> limit_in(const std::string& path) {
  constexpr std::string_view kName = "Max address space";
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::int64_t limit = 0;
    if (line.starts_with(kName) && std::istringstream(line.substr(kName.size())) >> limit) return limit;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Bytes> address_space_left(const std::string& root) {
  const auto limit = limit_in(root + "/proc/self/limits");
  std::int64_t pages = 0;
  if (!limit || !(std::ifstream(root + "/proc/self/statm") >> pages)) return std::nullopt;
  return Bytes(std::max<std::int64_t>(0, *limit - pages * ::sysconf(_SC_PAGESIZE)));
}

}  // namespace plimsoll
