#include "formats/machines/machine_json.h"

#include <fmt/format.h>

#include "formats/text/json_text.h"
#include "formats/text/parse_json.h"

namespace plimsoll {
namespace {

constexpr int kMachineVersion = 1;
constexpr std::int64_t kMostCores = 1 << 20;

/// The tables that a platform's entries refer to.
struct Tables {
  NameTable spaces;
  NameTable processors;
  NameTable resources;

  explicit Tables(const Platform& platform)
      : spaces(name_table("space", platform.spaces)),
        processors(name_table("processor", platform.processors)),
        resources(name_table("resource", platform.resources)) {}
};

template <typename Entry, typename Write>
std::string lines(const std::vector<Entry>& entries, std::size_t indent, Write write) {
  std::vector<std::string> items;
  for (const Entry& entry : entries) items.push_back(write(entry));
  return json_lines(items, indent);
}

std::string write_demands(const std::vector<Demand>& demands, const Tables& tables) {
  std::vector<std::string> items;
  for (const Demand& demand : demands) {
    items.push_back(fmt::format("[{}, {}]", tables.resources.write(demand.resource), json_number(demand.amount)));
  }
  return json_list(items);
}

std::string write_space(const MemorySpace& space) {
  JsonLine line;
  line.text("name", space.name).text("kind", to_text(space.kind));
  return line.integer("capacity", space.capacity.count).integer("usable", space.usable.count).str();
}

std::string write_processor(const Processor& p, const Tables& tables) {
  JsonLine line;
  line.text("name", p.name).text("kind", to_text(p.kind)).raw("space", tables.spaces.write(p.space));
  line.integer("cores", p.cores).number("bytes_per_second", p.bytes_per_second).number("fp32_flops", p.fp32_flops);
  line.number("fp16_flops", p.fp16_flops).number("bf16_flops", p.bf16_flops);
  if (p.tf32_flops > 0) line.number("tf32_flops", p.tf32_flops);
  return line.text("calibration_name", p.calibration_name).str();
}

std::string write_resource(const Resource& resource) {
  JsonLine line;
  return line.text("name", resource.name).number("capacity", resource.capacity).str();
}

std::string write_link(const Link& link, const Tables& tables) {
  JsonLine line;
  line.text("name", link.name).raw("from", tables.spaces.write(link.from)).raw("to", tables.spaces.write(link.to));
  line.number("bytes_per_second", link.bytes_per_second).integer("latency_ns", link.latency.count);
  return line.raw("path", write_demands(link.path, tables)).str();
}

std::string write_queue(const Queue& queue, const Tables& tables) {
  JsonLine line;
  line.text("name", queue.name).text("kind", to_text(queue.kind));
  line.raw("processor", tables.processors.write(queue.processor)).integer("width", queue.width);
  line.integer("rank", queue.rank).raw("demands", write_demands(queue.demands, tables));
  if (queue.weight != 1.0) line.number("weight", queue.weight);
  return line.str();
}

MemorySpace read_space(const JsonNode& node) {
  node.allow_only({"name", "kind", "capacity", "usable"});
  MemorySpace space;
  space.name = node.at("name").text();
  space.kind = enum_of(node.at("kind"), SpaceKind::kSsd);
  space.capacity = node.at("capacity").bytes();
  space.usable = node.has("usable") ? node.at("usable").bytes() : space.capacity;
  return space;
}

Processor read_processor(const JsonNode& node, const NameTable& spaces) {
  node.allow_only({"name", "kind", "space", "cores", "bytes_per_second", "fp32_flops", "fp16_flops", "bf16_flops",
                   "tf32_flops", "calibration_name"});
  Processor p;
  p.name = node.at("name").text();
  p.kind = enum_of(node.at("kind"), ProcessorKind::kCpu);
  p.space = spaces.read<SpaceId>(node.at("space"));
  p.cores = node.integer_or("cores", p.cores, 0, kMostCores);
  p.bytes_per_second = node.number_or("bytes_per_second", 0, 0);
  p.fp32_flops = node.number_or("fp32_flops", 0, 0);
  p.fp16_flops = node.number_or("fp16_flops", 0, 0);
  p.bf16_flops = node.number_or("bf16_flops", 0, 0);
  p.tf32_flops = node.number_or("tf32_flops", 0, 0);
  p.calibration_name = node.text_or("calibration_name", "");
  return p;
}

Resource read_resource(const JsonNode& node) {
  node.allow_only({"name", "capacity"});
  return {.name = node.at("name").text(), .capacity = node.at("capacity").number(0)};
}

/// `["dram", 2.0]`, or `"dram"` for one unit.
std::vector<Demand> read_demands(const JsonNode& node, std::string_view key, const NameTable& resources) {
  std::vector<Demand> demands;
  for (const JsonNode& item : node.elements_of(key)) {
    if (!item.is_array()) {
      demands.push_back({.resource = resources.read<ResourceId>(item), .amount = 1.0});
      continue;
    }
    const std::vector<JsonNode> pair = item.elements();
    if (pair.size() != 2) item.fault("expected [resource, amount]");
    if (pair.size() == 2)
      demands.push_back({.resource = resources.read<ResourceId>(pair[0]), .amount = pair[1].number(0)});
  }
  return demands;
}

Link read_link(const JsonNode& node, const NameTable& spaces, const NameTable& resources) {
  node.allow_only({"name", "from", "to", "bytes_per_second", "latency_ns", "path"});
  Link link;
  link.name = node.at("name").text();
  link.from = spaces.read<SpaceId>(node.at("from"));
  link.to = spaces.read<SpaceId>(node.at("to"));
  link.bytes_per_second = node.at("bytes_per_second").number(0);
  link.latency = Nanoseconds(node.integer_or("latency_ns", 0, 0, kMaxParsedCount));
  link.path = read_demands(node, "path", resources);
  return link;
}

Queue read_queue(const JsonNode& node, const NameTable& processors, const NameTable& resources) {
  node.allow_only({"name", "kind", "processor", "width", "rank", "demands", "weight"});
  Queue queue;
  queue.name = node.at("name").text();
  queue.kind = enum_of(node.at("kind"), QueueKind::kCommunication);
  if (node.has("processor") && !node.at("processor").is_null()) {
    queue.processor = processors.read<ProcessorId>(node.at("processor"));
  }
  queue.width = node.integer_or("width", 1, 1, kMostCores);
  queue.rank = node.integer_or("rank", 0, 0, kMostCores);
  queue.demands = read_demands(node, "demands", resources);
  queue.weight = node.number_or("weight", 1.0, 0);
  if (queue.weight <= 0) node.fault("a queue's weight must be positive");
  return queue;
}

std::string with_version(const std::string& platform) {
  return fmt::format("{{\n  \"format_version\": {},{}\n", kMachineVersion, std::string_view(platform).substr(1));
}

}  // namespace

std::string write_platform(const Platform& platform, std::size_t indent) {
  const Tables tables(platform);
  const std::string margin(indent + 2, ' ');
  std::string text = fmt::format("{{\n{}\"name\": {}", margin, json_quote(platform.name));
  const auto add = [&](std::string_view key, const std::string& list) {
    text += fmt::format(",\n{}\"{}\": {}", margin, key, list);
  };
  add("spaces", lines(platform.spaces, indent + 2, write_space));
  add("processors",
      lines(platform.processors, indent + 2, [&](const Processor& p) { return write_processor(p, tables); }));
  add("resources", lines(platform.resources, indent + 2, write_resource));
  add("links", lines(platform.links, indent + 2, [&](const Link& link) { return write_link(link, tables); }));
  add("queues", lines(platform.queues, indent + 2, [&](const Queue& queue) { return write_queue(queue, tables); }));
  return text + "\n" + std::string(indent, ' ') + "}";
}

Platform read_platform(const JsonNode& node) {
  node.allow_only({"format_version", "name", "spaces", "processors", "resources", "links", "queues"});
  Platform platform;
  platform.name = node.text_or("name", "");
  for (const JsonNode& item : node.elements_of("spaces")) platform.spaces.push_back(read_space(item));
  for (const JsonNode& item : node.elements_of("resources")) platform.resources.push_back(read_resource(item));
  const NameTable spaces = name_table("space", platform.spaces);
  const NameTable resources = name_table("resource", platform.resources);
  for (const JsonNode& item : node.elements_of("processors"))
    platform.processors.push_back(read_processor(item, spaces));
  const NameTable processors = name_table("processor", platform.processors);
  for (const JsonNode& item : node.elements_of("links")) platform.links.push_back(read_link(item, spaces, resources));
  for (const JsonNode& item : node.elements_of("queues")) {
    platform.queues.push_back(read_queue(item, processors, resources));
  }
  return platform;
}

std::string write_machine(const Platform& platform) { return with_version(write_platform(platform, 0)); }

Result<Platform> read_machine(std::string_view text, const std::string& where) {
  const auto document = parse_json(text, where);
  if (!document) return fail(document.error());
  JsonFault fault{.where = where, .error = {}};
  const JsonNode node(*document, "", fault);
  read_format_version(node, kMachineVersion);
  Platform platform = read_platform(node);
  if (fault.error) return fail(*fault.error);
  return platform;
}

}  // namespace plimsoll
