#include "profiler/probe/attached_drive.h"

#include "formats/machines/constant_table.h"
#include "formats/machines/platform_parts.h"

namespace plimsoll {

void add_drive(Platform& platform, const AttachedDrive& drive, SpaceId device, SpaceId host, ProcessorId cpu, ResourceId dram) {
  const SpaceId ssd = add_space(platform, "ssd", SpaceKind::kSsd, drive.usable, drive.usable);
  const ResourceId busy = add_resource(platform, "ssd.total", drive.together);
  const Nanoseconds latency = from_seconds(machine_defaults().at("ssd.latency") * 1e-6);
  const auto add = [&](const char* name, SpaceId from, SpaceId to, double rate) {
    add_link(platform, {.name = name,
                        .from = from,
                        .to = to,
                        .bytes_per_second = rate,
                        .latency = latency,
                        .path = {{.resource = busy, .amount = 1.0 / rate}, {.resource = dram}}});
  };
  add("ssd->host", ssd, host, drive.read_bytes_per_second);
  add("host->ssd", host, ssd, drive.write_bytes_per_second);
  if (drive.reaches_device) {
    add("ssd->gpu0", ssd, device, drive.read_bytes_per_second);
    add("gpu0->ssd", device, ssd, drive.write_bytes_per_second);
  }
  add_queue(platform, "ssd.read", QueueKind::kStorage, cpu, {}, kDriveWidth);
  add_queue(platform, "ssd.write", QueueKind::kStorage, cpu, {}, kDriveWidth);
}

}  // namespace plimsoll
