#include "profiler/decode/instruction_events.h"

#include <algorithm>
#include <map>
#include <utility>

namespace plimsoll {
namespace {

using CallKey = std::pair<std::uint32_t, std::uint64_t>;  ///< process, correlation
using PlanKey = std::pair<std::uint32_t, std::uint32_t>;  ///< step, instruction

std::map<CallKey, PlanKey> links_of(const Recording& recording) {
  std::map<CallKey, PlanKey> links;
  for (const InstructionLink& link : recording.instructions)
    links[{link.process, link.correlation}] = {link.step, link.instruction};
  return links;
}

}  // namespace

std::vector<TraceEvent> instruction_events(const Recording& recording) {
  const auto links = links_of(recording);
  std::map<PlanKey, TraceEvent> events;
  for (const DeviceWork& work : recording.work) {
    const auto link = links.find({work.on.process, work.correlation});
    if (link == links.end()) continue;
    const auto [step, instruction] = link->second;
    const TraceEvent alone{.step = step, .instruction = instruction, .start = work.start, .end = work.end};
    const auto [known, is_new] = events.emplace(link->second, alone);
    known->second.start = std::min(known->second.start, work.start);
    known->second.end = std::max(known->second.end, work.end);
  }
  std::vector<TraceEvent> list;
  for (const auto& [key, event] : events) list.push_back(event);
  return list;
}

std::size_t unlinked_work(const Recording& recording) {
  const auto links = links_of(recording);
  return static_cast<std::size_t>(std::count_if(recording.work.begin(), recording.work.end(), [&](const DeviceWork& work) {
    return links.find({work.on.process, work.correlation}) == links.end();
  }));
}

}  // namespace plimsoll
