#include "formats/machines/machine_probe.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "formats/machines/machine_json.h"
#include "formats/text/json_text.h"
#include "formats/text/parse_json.h"

namespace plimsoll {
namespace {

constexpr int kProbeVersion = 1;
constexpr std::int64_t kMostCores = 1 << 20;

JsonLine& add_spread(JsonLine& line, const Spread& spread) {
  line.number("median", spread.median).number("low", spread.low).number("high", spread.high);
  return line.integer("samples", spread.samples);
}

std::string write_spread(const Spread& spread) {
  JsonLine line;
  return add_spread(line, spread).str();
}

std::string write_slowdown(const PairSlowdown& pair) {
  JsonLine line;
  return line.number("work", pair.work).number("copy", pair.copy).str();
}

std::string write_cost(const ProbedCost& cost) {
  JsonLine line;
  return add_spread(line.text("work", cost.work), cost.nanoseconds).str();
}

std::string write_memory(const MemoryRates& memory) {
  const std::vector<std::pair<std::string_view, std::string>> fields{
      {"read", write_spread(memory.read)},
      {"copy_traffic", write_spread(memory.copy_traffic)},
      {"copy", write_spread(memory.copy)},
      {"copy_latency_ns", std::to_string(memory.copy_latency.count)},
      {"product_beside_copy", write_slowdown(memory.product)},
      {"optimizer_beside_copy", write_slowdown(memory.optimizer)}};
  std::string text = "{";
  for (const auto& [key, value] : fields) {
    text += fmt::format("{}\n    \"{}\": {}", text.size() > 1 ? "," : "", key, value);
  }
  return text + "\n  }";
}

std::string write_drive(const ProbedDrive& drive) {
  JsonLine line;
  line.text("folder", drive.folder).text("way", drive.way);
  line.integer("free_bytes", drive.free.count).integer("filled_bytes", drive.filled.count);
  line.raw("read", write_spread(drive.read)).raw("write", write_spread(drive.write));
  return line.raw("mixed_read", write_spread(drive.mixed_read)).raw("mixed_write", write_spread(drive.mixed_write)).str();
}

Spread read_spread(const JsonNode& node, double least) {
  Spread spread{.median = node.at("median").number(least),
                .low = node.at("low").number(least),
                .high = node.at("high").number(least),
                .samples = node.at("samples").integer(1, kMaxParsedCount)};
  if (spread.low > spread.median || spread.median > spread.high) node.fault("the median lies outside its spread");
  return spread;
}

Spread read_rate(const JsonNode& node) {
  node.allow_only({"median", "low", "high", "samples"});
  const Spread spread = read_spread(node, 0);
  if (spread.low <= 0) node.fault("a rate must be positive");
  return spread;
}

PairSlowdown read_slowdown(const JsonNode& node) {
  node.allow_only({"work", "copy"});
  return {.work = node.at("work").number(1), .copy = node.at("copy").number(1)};
}

MemoryRates read_memory(const JsonNode& node) {
  node.allow_only({"read", "copy_traffic", "copy", "copy_latency_ns", "product_beside_copy", "optimizer_beside_copy"});
  return {.read = read_rate(node.at("read")),
          .copy_traffic = read_rate(node.at("copy_traffic")),
          .copy = read_rate(node.at("copy")),
          .copy_latency = Nanoseconds(node.at("copy_latency_ns").integer(0, kMaxParsedCount)),
          .product = read_slowdown(node.at("product_beside_copy")),
          .optimizer = read_slowdown(node.at("optimizer_beside_copy"))};
}

ProbedDrive read_drive(const JsonNode& node) {
  node.allow_only({"folder", "way", "free_bytes", "filled_bytes", "read", "write", "mixed_read", "mixed_write"});
  return {.folder = node.at("folder").text(),
          .way = node.at("way").text(),
          .free = node.has("free_bytes") ? node.at("free_bytes").bytes() : Bytes(0),
          .filled = node.at("filled_bytes").bytes(),
          .read = read_rate(node.at("read")),
          .write = read_rate(node.at("write")),
          .mixed_read = read_rate(node.at("mixed_read")),
          .mixed_write = read_rate(node.at("mixed_write"))};
}

ProbedCost read_cost(const JsonNode& node) {
  node.allow_only({"work", "median", "low", "high", "samples"});
  return {.work = node.at("work").text(), .nanoseconds = read_spread(node, 0)};
}

MachineProbe read_fields(const JsonNode& node) {
  read_format_version(node, kProbeVersion);
  // Probes of before there were "topology" and "parts" have "numa_nodes" and "caches", which nobody asks for.
  node.allow_only({"format_version", "machine", "logical_cores", "physical_cores", "numa_nodes", "caches", "topology",
                   "parts", "workers", "date", "tool_version", "memory_bytes_per_second", "product_flops_per_second",
                   "optimizer_bytes_per_second", "others_cpu_share", "drive_bytes_per_second", "platform", "plans",
                   "costs"});
  MachineProbe probe{.cpu_model = node.at("machine").text(),
                     .logical_cores = node.at("logical_cores").integer(1, kMostCores),
                     .physical_cores = node.at("physical_cores").integer(1, kMostCores),
                     .workers = node.at("workers").integer(1, kMostCores),
                     .date = node.at("date").text(),
                     .tool_version = node.at("tool_version").text(),
                     .memory = read_memory(node.at("memory_bytes_per_second")),
                     .platform = read_platform(node.at("platform"))};
  if (node.has("topology")) probe.topology = read_topology(node.at("topology"));
  if (node.has("parts")) probe.parts = read_parts(node.at("parts"));
  if (node.has("product_flops_per_second")) probe.product_flops = read_rate(node.at("product_flops_per_second"));
  if (node.has("optimizer_bytes_per_second")) probe.optimizer_bytes = read_rate(node.at("optimizer_bytes_per_second"));
  if (node.has("others_cpu_share")) probe.others_cpu = node.at("others_cpu_share").number(0);
  if (node.has("drive_bytes_per_second")) probe.drive = read_drive(node.at("drive_bytes_per_second"));
  for (const JsonNode& item : node.elements_of("plans")) probe.plans.push_back(item.text());
  for (const JsonNode& item : node.elements_of("costs")) probe.costs.push_back(read_cost(item));
  return probe;
}

/// Up to three numbers between points; what is no number counts as 0.
std::array<int, 3> version_numbers(std::string_view text) {
  std::array<int, 3> numbers{};
  for (int& number : numbers) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty() || text.front() != '.') break;
    text.remove_prefix(1);
  }
  return numbers;
}

tl::unexpected<Error> outdated(std::string what) {
  return fail({.kind = ErrorKind::kInput,
               .what = std::move(what),
               .where = {},
               .remedy = "probe again: plimsoll machines --probe"});
}

}  // namespace

std::string write_probe(const MachineProbe& probe) {
  std::vector<std::string> costs;
  for (const ProbedCost& cost : probe.costs) costs.push_back(write_cost(cost));
  std::vector<std::pair<std::string_view, std::string>> fields{
      {"format_version", std::to_string(kProbeVersion)},
      {"machine", json_quote(probe.cpu_model)},
      {"logical_cores", std::to_string(probe.logical_cores)},
      {"physical_cores", std::to_string(probe.physical_cores)},
      {"topology", write_topology(probe.topology)},
      {"parts", write_parts(probe.parts, 2)},
      {"workers", std::to_string(probe.workers)},
      {"date", json_quote(probe.date)},
      {"tool_version", json_quote(probe.tool_version)},
      {"others_cpu_share", json_number(probe.others_cpu)},
      {"memory_bytes_per_second", write_memory(probe.memory)}};
  // Probes of before these were measured have none of them.
  if (probe.product_flops.samples > 0) {
    fields.emplace_back("product_flops_per_second", write_spread(probe.product_flops));
    fields.emplace_back("optimizer_bytes_per_second", write_spread(probe.optimizer_bytes));
  }
  if (probe.drive) fields.emplace_back("drive_bytes_per_second", write_drive(*probe.drive));
  fields.emplace_back("platform", write_platform(probe.platform, 2));
  fields.emplace_back("plans", json_list(json_texts(probe.plans)));
  fields.emplace_back("costs", json_lines(costs, 2));
  std::string text = "{";
  for (const auto& [key, value] : fields) {
    text += fmt::format("{}\n  \"{}\": {}", text.size() > 1 ? "," : "", key, value);
  }
  return text + "\n}\n";
}

Result<MachineProbe> read_probe(std::string_view text, const std::string& where) {
  const auto document = parse_json(text, where);
  if (!document) return fail(document.error());
  JsonFault fault{.where = where, .error = {}};
  MachineProbe probe = read_fields(JsonNode(*document, "", fault));
  if (fault.error) return fail(*fault.error);
  return probe;
}

bool looks_like_probe(std::string_view text) {
  const auto document = parse_json(text, "");
  return document && document->is_object() && document->contains("costs");
}

Result<void> check_probe(const MachineProbe& probe, std::string_view cpu_model, std::int64_t logical_cores,
                         std::string_view tool_version) {
  if (probe.cpu_model != cpu_model || probe.logical_cores != logical_cores) {
    return outdated(fmt::format("the probe of {} is of {} with {} cores, this is {} with {}", probe.date,
                                probe.cpu_model, probe.logical_cores, cpu_model, logical_cores));
  }
  if (version_numbers(probe.tool_version) < version_numbers(tool_version)) {
    return outdated(fmt::format("the probe of {} was made by version {}, this is {}", probe.date, probe.tool_version,
                                tool_version));
  }
  return {};
}

}  // namespace plimsoll
