#include "profiler/probe/process_memory.h"

#include <fstream>
#include <sstream>

#include "profiler/probe/system_texts.h"

namespace plimsoll {

std::optional<ProcessMemory> process_memory(const std::string& root) {
  std::ifstream file(root + "/proc/self/smaps_rollup");
  std::ostringstream text;
  text << file.rdbuf();
  const auto anonymous = parse_meminfo(text.str(), "Anonymous");
  if (!anonymous) return std::nullopt;
  return ProcessMemory{.anonymous = *anonymous, .locked = parse_meminfo(text.str(), "Locked").value_or(Bytes(0))};
}

}  // namespace plimsoll
