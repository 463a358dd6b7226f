#include "formats/machines/platform_parts.h"

#include <algorithm>
#include <utility>

namespace plimsoll {
namespace {

template <typename Id, typename Entry>
Id append(std::vector<Entry>& table, Entry entry) {
  table.push_back(std::move(entry));
  return Id(table.size() - 1);
}

}  // namespace

SpaceId add_space(Platform& platform, std::string name, SpaceKind kind, Bytes capacity, Bytes usable) {
  return append<SpaceId>(platform.spaces,
                         {.name = std::move(name), .kind = kind, .capacity = capacity, .usable = usable});
}

ProcessorId add_processor(Platform& platform, Processor processor) {
  return append<ProcessorId>(platform.processors, std::move(processor));
}

ResourceId add_resource(Platform& platform, std::string name, double capacity) {
  return append<ResourceId>(platform.resources, {.name = std::move(name), .capacity = capacity});
}

LinkId add_link(Platform& platform, Link link) { return append<LinkId>(platform.links, std::move(link)); }

QueueId add_queue(Platform& platform, std::string name, QueueKind kind, ProcessorId processor,
                  std::vector<Demand> demands, std::int64_t width) {
  return append<QueueId>(platform.queues, {.name = std::move(name),
                                           .kind = kind,
                                           .processor = processor,
                                           .width = width,
                                           .rank = 0,
                                           .demands = std::move(demands)});
}

DriveSpeeds drive_speeds(double read, double write, double mixed_read, double mixed_write) {
  const double together = std::min(2.0, mixed_read / read + mixed_write / write), slower = std::min(1.0, together);
  return {.read = slower * read, .write = slower * write, .together = std::max(1.0, together)};
}

void add_host_work_queues(Platform& platform, ProcessorId cpu, ResourceId cores) {
  const std::vector<Demand> one_core{{.resource = cores, .amount = 1.0}};
  add_queue(platform, "data", QueueKind::kHostWork, cpu, one_core);
  add_queue(platform, "report", QueueKind::kHostWork, cpu, one_core);
}

}  // namespace plimsoll
