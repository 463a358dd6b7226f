#include "cli/inputs/operator_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/print/waiting_line.h"
#include "formats/runs/short_kernel_name.h"
#include "formats/traces/read_operators.h"

namespace plimsoll {
namespace {

constexpr std::size_t kMostNames = 8;

struct SortTotal {
  std::size_t count = 0;
  Nanoseconds time;
};

std::map<std::string, SortTotal> by_sort(const OperatorTrace& trace) {
  std::map<std::string, SortTotal> totals;
  for (const TracedOperator& node : trace.nodes) {
    SortTotal& total = totals[fmt::format("{} ({})", to_text(node.sort), node.on_host ? "host" : "device")];
    ++total.count;
    if (node.duration.count > 0) total.time += node.duration;
  }
  return totals;
}

/// Names on the longest chain, the most time first.
std::vector<std::pair<std::string, Nanoseconds>> on_path(const OperatorTrace& trace, const OperatorSchedule& schedule) {
  std::map<std::string, Nanoseconds> times;
  for (const std::uint32_t i : schedule.on_path)
    times[short_kernel_name(trace.names.at(trace.nodes[i].name))] += schedule.end[i] - schedule.start[i];
  std::vector<std::pair<std::string, Nanoseconds>> list(times.begin(), times.end());
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  if (list.size() > kMostNames) list.resize(kMostNames);
  return list;
}

/// Names of nodes by how often they occur; of those that hold others only the inner ones.
std::vector<std::pair<std::string, std::size_t>> by_name(const OperatorTrace& trace) {
  std::map<std::string, std::size_t> counts;
  for (const TracedOperator& node : trace.nodes) {
    if (!node.has_children) ++counts[trace.names.at(node.name)];
  }
  std::vector<std::pair<std::string, std::size_t>> list(counts.begin(), counts.end());
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  if (list.size() > kMostNames) list.resize(kMostNames);
  return list;
}

}  // namespace

std::string operators_text(const OperatorTrace& trace, const OperatorSchedule* schedule) {
  std::size_t dependencies = 0;
  for (const TracedOperator& node : trace.nodes) dependencies += node.after.size();
  std::string text = fmt::format("{}: {} nodes, {} dependencies\n", trace.source, trace.nodes.size(), dependencies);
  for (const auto& [sort, total] : by_sort(trace)) text += fmt::format("  {:<20}{:>9}  {:>12}\n", sort, total.count, to_text(total.time));
  for (const StoragePeak& peak : storage_peaks(trace)) {
    text += fmt::format("  {}: {} storages, {} there before, at most {} in use (at {})\n", peak.device.empty() ? "?" : peak.device,
                        peak.storages, to_text(Bytes(peak.there_before)), to_text(Bytes(peak.peak)),
                        trace.names.at(trace.nodes[peak.at].name));
  }
  if (schedule != nullptr) {
    text += fmt::format("  by its dependencies it takes {}; the longest chain of them {}\n", to_text(schedule->makespan),
                        to_text(schedule->critical_path));
    for (const auto& [name, time] : on_path(trace, *schedule)) text += fmt::format("    {:>12}  {}\n", to_text(time), name);
  } else {
    for (const auto& [name, count] : by_name(trace)) text += fmt::format("    {:>8} x  {}\n", count, name);
  }
  return text;
}

std::string operators_json(const OperatorTrace& trace, const OperatorSchedule* schedule) {
  using nlohmann::ordered_json;
  ordered_json sorts = ordered_json::array(), memory = ordered_json::array(), losses = ordered_json::array();
  for (const auto& [sort, total] : by_sort(trace))
    sorts.push_back({{"kind", sort}, {"count", total.count}, {"seconds", to_seconds(total.time)}});
  for (const StoragePeak& peak : storage_peaks(trace)) {
    memory.push_back({{"device", peak.device}, {"storages", peak.storages}, {"there_before_bytes", peak.there_before},
                      {"peak_bytes", peak.peak}, {"peak_at", trace.names.at(trace.nodes[peak.at].name)}});
  }
  for (const RecordingLoss& loss : trace.losses) losses.push_back({{"what", loss.what}, {"count", loss.count}});
  ordered_json object{{"format_version", 1}, {"source", trace.source}, {"nodes", trace.nodes.size()}, {"kinds", sorts}, {"memory", memory}};
  if (schedule != nullptr) {
    ordered_json top = ordered_json::array();
    for (const auto& [name, time] : on_path(trace, *schedule)) top.push_back({{"name", name}, {"seconds", to_seconds(time)}});
    object["predicted_seconds"] = to_seconds(schedule->makespan);
    object["critical_path_seconds"] = to_seconds(schedule->critical_path);
    object["critical_path"] = {{"nodes", schedule->on_path.size()}, {"top", top}};
    object["untimed_nodes"] = schedule->untimed;
  }
  object["losses"] = losses;
  return object.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Result<Answered> replay_operators(const std::string& file, const std::vector<ScaleRule>& scales, bool json) {
  const WaitingLine waiting("replaying");
  const auto trace = read_operators(file);
  if (!trace) return fail(trace.error());
  auto schedule = schedule_operators(*trace, scales);
  if (!schedule) {
    schedule.error().where = file;
    return fail(schedule.error());
  }
  Answered answered{.text = json ? operators_json(*trace, &*schedule) : operators_text(*trace, &*schedule), .said = {}};
  for (const RecordingLoss& loss : trace->losses) answered.said += fmt::format("plimsoll: left out: {} {}\n", loss.count, loss.what);
  return answered;
}

}  // namespace plimsoll
