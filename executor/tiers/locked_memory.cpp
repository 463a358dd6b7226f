#include "executor/tiers/locked_memory.h"

#include <linux/capability.h>
#include <sys/resource.h>

#include <charconv>
#include <cstdint>
#include <fstream>
#include <string>

namespace plimsoll {
namespace {

/// Whether the process has CAP_IPC_LOCK, which lifts the limit.
bool may_lock_everything() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "CapEff:" || !(status >> word)) continue;
    std::uint64_t capabilities = 0;
    std::from_chars(word.data(), word.data() + word.size(), capabilities, 16);
    return (capabilities >> CAP_IPC_LOCK & 1u) != 0;
  }
  return false;
}

}  // namespace

std::optional<Bytes> locked_memory_limit() {
  rlimit limit{};
  const bool known = ::getrlimit(RLIMIT_MEMLOCK, &limit) == 0;
  if (!known || limit.rlim_cur >= static_cast<rlim_t>(kMaxParsedBytes.count) || may_lock_everything()) {
    return std::nullopt;
  }
  return Bytes(static_cast<std::int64_t>(limit.rlim_cur));
}

}  // namespace plimsoll
