#include "formats/machines/machine_parts.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "formats/text/json_node.h"
#include "formats/text/json_text.h"
#include "formats/text/parse_json.h"

namespace plimsoll {
namespace {

constexpr int kMachineVersion = 1;
constexpr std::int64_t kMostParts = 1024;
constexpr std::int64_t kMostCores = 1 << 20;

std::optional<std::int64_t> count_in(const JsonNode& node, std::string_view key, std::int64_t low, std::int64_t high) {
  if (!node.has(key)) return std::nullopt;
  return node.at(key).integer(low, high);
}

std::optional<double> rate_in(const JsonNode& node, std::string_view key) {
  if (!node.has(key)) return std::nullopt;
  const double rate = node.at(key).number(0);
  if (rate <= 0) node.at(key).fault("a rate must be positive");
  return rate;
}

GpuPart read_gpu(const JsonNode& node, std::int64_t nodes) {
  node.allow_only({"name", "pcie_generation", "pcie_lanes", "numa_node", "memory", "bytes_per_second", "multiprocessors", "tflops",
                   "board", "compute_capability"});
  GpuPart gpu{.name = node.at("name").text(), .stated = read_stated_gpu(node)};
  if (const auto generation = count_in(node, "pcie_generation", 1, 5)) gpu.pcie_generation = static_cast<int>(*generation);
  if (const auto lanes = count_in(node, "pcie_lanes", 1, 16)) gpu.pcie_lanes = static_cast<int>(*lanes);
  gpu.numa_node = count_in(node, "numa_node", 0, nodes - 1);
  return gpu;
}

NvlinkPart read_nvlink(const JsonNode& node, std::int64_t gpus) {
  node.allow_only({"gpus", "bytes_per_second"});
  NvlinkPart link{.bytes_per_second = rate_in(node, "bytes_per_second").value_or(0)};
  if (!node.has("bytes_per_second")) node.fault("an NVLink needs its \"bytes_per_second\"");
  const std::vector<JsonNode> pair = node.elements_of("gpus");
  if (pair.size() != 2) {
    node.fault("expected \"gpus\": [first, second]");
    return link;
  }
  link.first = pair[0].integer(0, gpus - 1);
  link.second = pair[1].integer(0, gpus - 1);
  if (link.first == link.second) node.fault("an NVLink joins two different GPUs");
  return link;
}

NumaPart read_numa(const JsonNode& node) {
  node.allow_only({"memory", "cores", "bytes_per_second"});
  return {.memory = node.at("memory").bytes(),
          .cores = node.at("cores").integer(0, kMostCores),
          .bytes_per_second = rate_in(node, "bytes_per_second")};
}

DrivePart read_drive(const JsonNode& node, std::int64_t nodes) {
  node.allow_only({"capacity", "count", "queue_depth", "read_bytes_per_second", "write_bytes_per_second",
                   "mixed_read_bytes_per_second", "mixed_write_bytes_per_second", "uplink_bytes_per_second", "reaches_gpu",
                   "numa_node"});
  DrivePart drive{.capacity = node.at("capacity").bytes(),
          .count = node.integer_or("count", 1, 1, kMostParts),
          .queue_depth = count_in(node, "queue_depth", 1, kMostParts),
          .read_bytes_per_second = rate_in(node, "read_bytes_per_second"),
          .write_bytes_per_second = rate_in(node, "write_bytes_per_second"),
          .mixed_read_bytes_per_second = rate_in(node, "mixed_read_bytes_per_second"),
          .mixed_write_bytes_per_second = rate_in(node, "mixed_write_bytes_per_second"),
          .uplink_bytes_per_second = rate_in(node, "uplink_bytes_per_second"),
          .reaches_gpu = node.boolean_or("reaches_gpu", false),
          .numa_node = count_in(node, "numa_node", 0, nodes - 1)};
  const bool alone = drive.read_bytes_per_second && drive.write_bytes_per_second;
  const bool read = drive.mixed_read_bytes_per_second.has_value(), write = drive.mixed_write_bytes_per_second.has_value();
  if (read != write || (read && !alone)) node.fault("mixed rates are both given, and beside the rates alone, or neither");
  return drive;
}

void check_together(const MachineParts& parts, const JsonNode& node) {
  std::int64_t cores = 0;
  for (const NumaPart& numa : parts.numa_nodes) cores += numa.cores;
  if (!parts.numa_nodes.empty() && cores == 0) node.at("numa_nodes").fault("none of the NUMA nodes has a core");
  if (parts.drives.size() > 1) {
    node.fault("drives of several kinds cannot be planned for yet", "state those that data is striped over as one, with a \"count\"");
  }
}

MachineParts read_file(const JsonNode& file) {
  file.allow_only({"format_version", "name", "parts"});
  read_format_version(file, kMachineVersion);
  const JsonNode node = file.at("parts");
  MachineParts parts = read_parts(node);
  parts.name = file.text_or("name", "");
  if (parts.gpus.empty()) node.fault("a machine needs at least one of \"gpus\"", "add {\"name\": \"RTX 2060 6GB\"}");
  return parts;
}

template <typename Value>
void add_count(JsonLine& line, std::string_view key, const std::optional<Value>& value) {
  if (value) line.integer(key, *value);
}

void add_rate(JsonLine& line, std::string_view key, const std::optional<double>& value) {
  if (value) line.number(key, *value);
}

std::string write_gpu(const GpuPart& gpu) {
  JsonLine line;
  line.text("name", gpu.name);
  add_count(line, "pcie_generation", gpu.pcie_generation);
  add_count(line, "pcie_lanes", gpu.pcie_lanes);
  add_count(line, "numa_node", gpu.numa_node);
  std::string text = line.str();
  return text.insert(text.size() - 1, write_stated_gpu(gpu.stated));
}

std::string write_nvlink(const NvlinkPart& link) {
  JsonLine line;
  line.raw("gpus", json_list({std::to_string(link.first), std::to_string(link.second)}));
  return line.number("bytes_per_second", link.bytes_per_second).str();
}

std::string write_numa(const NumaPart& numa) {
  JsonLine line;
  line.integer("memory", numa.memory.count).integer("cores", numa.cores);
  add_rate(line, "bytes_per_second", numa.bytes_per_second);
  return line.str();
}

std::string write_drive(const DrivePart& drive) {
  JsonLine line;
  line.integer("capacity", drive.capacity.count).integer("count", drive.count);
  add_count(line, "queue_depth", drive.queue_depth);
  add_rate(line, "read_bytes_per_second", drive.read_bytes_per_second);
  add_rate(line, "write_bytes_per_second", drive.write_bytes_per_second);
  add_rate(line, "mixed_read_bytes_per_second", drive.mixed_read_bytes_per_second);
  add_rate(line, "mixed_write_bytes_per_second", drive.mixed_write_bytes_per_second);
  add_rate(line, "uplink_bytes_per_second", drive.uplink_bytes_per_second);
  if (drive.reaches_gpu) line.flag("reaches_gpu", true);
  add_count(line, "numa_node", drive.numa_node);
  return line.str();
}

template <typename Part, typename Write>
std::string write_list(std::string_view key, const std::vector<Part>& parts, Write write, std::size_t indent) {
  std::vector<std::string> items;
  for (const Part& part : parts) items.push_back(write(part));
  return fmt::format("\"{}\": {}", key, json_lines(items, indent + 2));
}

}  // namespace

bool states_parts(std::string_view text) {
  const auto document = parse_json(text, "");
  return document && document->is_object() && document->contains("parts");
}

Result<MachineParts> read_machine_parts(std::string_view text, const std::string& where) {
  const auto document = parse_json(text, where);
  if (!document) return fail(document.error());
  JsonFault fault{.where = where, .error = {}};
  MachineParts parts = read_file(JsonNode(*document, "", fault));
  if (fault.error) return fail(*fault.error);
  return parts;
}

MachineParts read_parts(const JsonNode& node) {
  MachineParts parts;
  node.allow_only({"gpus", "nvlinks", "numa_nodes", "drives"});
  const auto gpus = static_cast<std::int64_t>(node.elements_of("gpus").size());
  const auto nodes = static_cast<std::int64_t>(node.elements_of("numa_nodes").size());
  for (const JsonNode& item : node.elements_of("gpus")) parts.gpus.push_back(read_gpu(item, nodes));
  for (const JsonNode& item : node.elements_of("nvlinks")) parts.nvlinks.push_back(read_nvlink(item, gpus));
  for (const JsonNode& item : node.elements_of("numa_nodes")) parts.numa_nodes.push_back(read_numa(item));
  for (const JsonNode& item : node.elements_of("drives")) parts.drives.push_back(read_drive(item, nodes));
  check_together(parts, node);
  return parts;
}

std::string write_parts(const MachineParts& parts, std::size_t indent) {
  std::string text = "{";
  const auto add = [&](const std::string& list) {
    text += fmt::format("{}\n{}{}", text.size() > 1 ? "," : "", std::string(indent + 2, ' '), list);
  };
  add(write_list("gpus", parts.gpus, write_gpu, indent));
  add(write_list("nvlinks", parts.nvlinks, write_nvlink, indent));
  add(write_list("numa_nodes", parts.numa_nodes, write_numa, indent));
  add(write_list("drives", parts.drives, write_drive, indent));
  return text + "\n" + std::string(indent, ' ') + "}";
}

std::string write_machine_parts(const MachineParts& parts) {
  return fmt::format("{{\n  \"format_version\": {},\n  \"name\": {},\n  \"parts\": {}\n}}\n", kMachineVersion,
                     json_quote(parts.name), write_parts(parts, 2));
}

}  // namespace plimsoll
