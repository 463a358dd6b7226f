#include "cli/commands/replay_memory.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/print/waiting_line.h"
#include "formats/traces/read_recording.h"
#include "sim/memory/replay_allocations.h"

namespace plimsoll {
namespace {

std::string text_of(const ReplayedAllocations& device) {
  std::string text = fmt::format("gpu{} of process {}: {} allocations and frees\n", device.device, device.process, device.points.size());
  text += fmt::format("  reserved at most: recorded {}, replayed {}; off by {:.2f} % on average, {:.2f} % at worst\n",
                      to_text(device.recorded_peak_reserved), to_text(device.peak_reserved), 100 * device.mean_error,
                      100 * device.worst_error);
  text += fmt::format("  grew {} times as recorded, {} times as replayed\n", device.grown, device.grown_here);
  if (device.held_at_start > Bytes(0)) {
    text += fmt::format("  the recording begins with {} reserved: {} as the events' addresses show it, {} that no event touches\n",
                        to_text(device.held_at_start), to_text(device.held_at_start - device.unseen_at_start),
                        to_text(device.unseen_at_start));
  }
  if (device.unmatched > 0) text += fmt::format("  {} events contradict the others and were passed over\n", device.unmatched);
  return text;
}

nlohmann::ordered_json json_of(const ReplayedAllocations& device) {
  nlohmann::ordered_json curve = nlohmann::ordered_json::array();
  Bytes recorded(-1), modelled(-1);
  for (const AllocationPoint& point : device.points) {
    if (point.recorded_reserved == recorded && point.reserved == modelled) continue;
    recorded = point.recorded_reserved;
    modelled = point.reserved;
    curve.push_back({{"seconds", to_seconds(point.time)}, {"recorded_bytes", recorded.count}, {"bytes", modelled.count}});
  }
  return {{"process", device.process},
          {"device", device.device},
          {"events", device.points.size()},
          {"peak_reserved_bytes", device.peak_reserved.count},
          {"recorded_peak_reserved_bytes", device.recorded_peak_reserved.count},
          {"peak_allocated_bytes", device.peak_allocated.count},
          {"reserved_error_mean", device.mean_error},
          {"reserved_error_worst", device.worst_error},
          {"growths", {{"recorded", device.grown}, {"replayed", device.grown_here}}},
          {"held_at_start_bytes", device.held_at_start.count},
          {"unseen_at_start_bytes", device.unseen_at_start.count},
          {"contradictions", device.unmatched},
          {"reserved", curve}};
}

}  // namespace

Result<Answered> replay_memory(const std::string& file, bool expandable_segments, bool json) {
  const WaitingLine waiting("replaying");
  const auto recording = read_recording(file);
  if (!recording) return fail(recording.error());
  auto replayed = replay_allocations(*recording, {.expandable_segments = expandable_segments});
  if (!replayed) {
    replayed.error().where = file;
    return fail(replayed.error());
  }
  nlohmann::ordered_json devices = nlohmann::ordered_json::array();
  for (const ReplayedAllocations& device : *replayed) devices.push_back(json_of(device));
  if (json) {
    const nlohmann::ordered_json all{{"format_version", 1}, {"source", recording->source}, {"devices", devices}};
    return Answered{.text = all.dump(2) + "\n", .said = {}};
  }
  std::string text = recording->source + "\n";
  for (const ReplayedAllocations& device : *replayed) text += text_of(device);
  return Answered{.text = std::move(text), .said = {}};
}

}  // namespace plimsoll
