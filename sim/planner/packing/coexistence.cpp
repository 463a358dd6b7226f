#include "sim/planner/packing/coexistence.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace plimsoll {
namespace {

struct Edge {
  std::int64_t at = 0;
  bool starts = false;
  std::uint32_t buffer = 0;

  /// Ends come before starts: lives are half-open.
  bool operator<(const Edge& other) const {
    return std::tie(at, starts, buffer) < std::tie(other.at, other.starts, other.buffer);
  }
};

std::vector<Edge> sorted_edges(const PackingTask& task) {
  std::vector<Edge> edges;
  for (std::uint32_t i = 0; i < task.size(); ++i) {
    for (const TimeSpan& span : task[i].spans_in_use()) {
      edges.push_back({span.begin, true, i});
      edges.push_back({span.end, false, i});
    }
  }
  std::sort(edges.begin(), edges.end());
  return edges;
}

/// The moment after which the load is at its largest for the first time: a position in the edges, and the load.
std::pair<std::size_t, std::int64_t> peak_of(const PackingTask& task, const std::vector<Edge>& edges) {
  std::int64_t load = 0;
  std::pair<std::size_t, std::int64_t> peak{0, 0};
  for (std::size_t i = 0; i < edges.size(); ++i) {
    load += edges[i].starts ? task[edges[i].buffer].size.count : -task[edges[i].buffer].size.count;
    if (load > peak.second) peak = {i + 1, load};
  }
  return peak;
}

}  // namespace

Coexistence::Coexistence(const PackingTask& task) : crowds_of(task.size()), neighbours(task.size()) {
  std::vector<std::uint32_t> alive;  // sorted
  bool grew = false;
  for (const Edge& edge : sorted_edges(task)) {
    const auto place = std::lower_bound(alive.begin(), alive.end(), edge.buffer);
    const bool known = place != alive.end() && *place == edge.buffer;
    if (edge.starts) {
      if (!known) alive.insert(place, edge.buffer);
    } else {
      if (grew) crowds.push_back(alive);
      if (known) alive.erase(place);
    }
    grew = edge.starts;
  }
  for (std::uint32_t crowd = 0; crowd < crowds.size(); ++crowd) {
    for (const std::uint32_t buffer : crowds[crowd]) crowds_of[buffer].push_back(crowd);
  }
  std::vector<std::uint32_t> seen_by(task.size(), static_cast<std::uint32_t>(task.size()));
  for (std::uint32_t buffer = 0; buffer < task.size(); ++buffer) {
    seen_by[buffer] = buffer;
    for (const std::uint32_t crowd : crowds_of[buffer]) {
      for (const std::uint32_t other : crowds[crowd]) {
        if (seen_by[other] != buffer) neighbours[buffer].push_back(other);
        seen_by[other] = buffer;
      }
    }
  }
}

Bytes peak_load(const PackingTask& task) { return Bytes(peak_of(task, sorted_edges(task)).second); }

std::vector<std::uint32_t> buffers_at_peak(const PackingTask& task) {
  const std::vector<Edge> edges = sorted_edges(task);
  const std::size_t moment = peak_of(task, edges).first;
  std::set<std::uint32_t> alive;
  for (std::size_t i = 0; i < moment; ++i) {
    if (edges[i].starts) {
      alive.insert(edges[i].buffer);
    } else {
      alive.erase(edges[i].buffer);
    }
  }
  return {alive.begin(), alive.end()};
}

}  // namespace plimsoll
