#include "formats/machines/cpu_topology.h"

#include <fmt/format.h>

#include "formats/text/json_text.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kMostThreads = 1 << 20;
constexpr int kMostLevels = 9;

std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string write_cache(const CpuCache& cache) {
  JsonLine line;
  line.integer("level", cache.level).integer("bytes", cache.bytes.count);
  return line.integer("shared_by", cache.shared_by).integer("count", cache.count).str();
}

CpuCache read_cache(const JsonNode& node) {
  node.allow_only({"level", "bytes", "shared_by", "count"});
  return {.level = static_cast<int>(node.at("level").integer(1, kMostLevels)),
          .bytes = node.at("bytes").bytes(),
          .shared_by = node.at("shared_by").integer(1, kMostThreads),
          .count = node.at("count").integer(1, kMostThreads)};
}

}  // namespace

std::string caches_text(const CpuTopology& topology) {
  std::string text;
  for (const CpuCache& cache : topology.caches) {
    text += fmt::format("{}{} x L{} {} of {}", text.empty() ? "" : ", ", cache.count, cache.level, to_text(cache.bytes),
                        counted(cache.shared_by, "thread"));
  }
  return text;
}

std::string numa_text(const std::vector<NumaPart>& nodes) {
  std::string text = counted(static_cast<std::int64_t>(nodes.size()), "NUMA node");
  for (const NumaPart& node : nodes) {
    text += fmt::format("{} {} with {}", &node == nodes.data() ? ":" : ",", to_text(node.memory), counted(node.cores, "core"));
  }
  return text;
}

std::string write_topology(const CpuTopology& topology) {
  std::vector<std::string> caches;
  for (const CpuCache& cache : topology.caches) caches.push_back(write_cache(cache));
  JsonLine line;
  line.integer("packages", topology.packages).integer("cores", topology.cores).integer("threads", topology.threads);
  return line.raw("caches", json_list(caches)).str();
}

CpuTopology read_topology(const JsonNode& node) {
  node.allow_only({"packages", "cores", "threads", "caches"});
  CpuTopology topology{.packages = node.at("packages").integer(1, kMostThreads),
                       .cores = node.at("cores").integer(1, kMostThreads),
                       .threads = node.at("threads").integer(1, kMostThreads)};
  for (const JsonNode& item : node.elements_of("caches")) topology.caches.push_back(read_cache(item));
  return topology;
}

}  // namespace plimsoll
