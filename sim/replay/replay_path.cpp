#include "sim/replay/replay_path.h"

#include <algorithm>

namespace plimsoll {
namespace {

/// The node before each in its lane; none for the first, and for lanes that order nothing.
std::vector<std::uint32_t> before_in_lane(const ReplayGraph& graph) {
  std::vector<std::uint32_t> last(graph.lanes, kNoIndex);
  std::vector<std::uint32_t> before(graph.nodes.size(), kNoIndex);
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const std::uint32_t lane = graph.nodes[i].lane;
    if (graph.side_by_side[lane]) continue;
    before[i] = last[lane];
    last[lane] = i;
  }
  return before;
}

void account(const ReplayNode& node, ReplayPath& path) {
  switch (node.kind) {
    case ReplayNodeKind::kWork:
      path.device += node.duration;
      path.launch += node.gap;
      return;
    case ReplayNodeKind::kFlight: path.launch += node.duration + node.gap; return;
    case ReplayNodeKind::kCall:
    case ReplayNodeKind::kReturn:
      path.calls += node.duration;
      path.host += node.gap;
      return;
  }
}

}  // namespace

ReplayPath find_replay_path(const Replayed& replayed) {
  ReplayPath path;
  const ReplayGraph& graph = replayed.graph;
  if (graph.nodes.empty()) return path;
  const std::vector<std::uint32_t> before = before_in_lane(graph);
  const auto last = std::max_element(replayed.end.begin(), replayed.end.end());
  auto at = static_cast<std::uint32_t>(last - replayed.end.begin());
  while (at != kNoIndex && path.nodes.size() <= graph.nodes.size()) {
    path.nodes.push_back(at);
    account(graph.nodes[at], path);
    std::uint32_t enabler = before[at];
    for (const std::uint32_t other : graph.nodes[at].after) {
      if (enabler == kNoIndex || replayed.end[other] >= replayed.end[enabler]) enabler = other;
    }
    at = enabler;
  }
  path.total = path.device + path.calls + path.host + path.launch;
  std::reverse(path.nodes.begin(), path.nodes.end());
  return path;
}

}  // namespace plimsoll
