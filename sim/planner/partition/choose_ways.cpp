#include "sim/planner/partition/choose_ways.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace plimsoll {
namespace {

constexpr std::size_t kMostNodes = 200'000;

/// A change from a layer's way to the next one on the lower hull of its times over bytes.
struct Change {
  std::uint32_t layer = 0, to = 0;
  double seconds = 0;  ///< more
  Bytes saved;
  [[nodiscard]] double price() const { return seconds / static_cast<double>(saved.count); }
};

/// From the fastest way on, changes of rising price.
std::vector<Change> hull_of(const std::vector<WayCost>& ways, std::uint32_t layer, std::uint32_t& fastest) {
  fastest = 0;
  for (std::uint32_t k = 1; k < ways.size(); ++k) {
    const bool better = ways[k].seconds < ways[fastest].seconds ||
                        (ways[k].seconds == ways[fastest].seconds && ways[k].bytes < ways[fastest].bytes);
    if (better) fastest = k;
  }
  std::vector<Change> changes;
  for (std::uint32_t at = fastest;;) {
    std::optional<Change> next;
    for (std::uint32_t k = 0; k < ways.size(); ++k) {
      if (ways[k].bytes >= ways[at].bytes) continue;
      const Change change{layer, k, ways[k].seconds - ways[at].seconds, ways[at].bytes - ways[k].bytes};
      if (!next || change.price() < next->price() || (change.price() == next->price() && change.saved > next->saved))
        next = change;
    }
    if (!next) return changes;
    changes.push_back(*next);
    at = next->to;
  }
}

class WaySearch {
 public:
  WaySearch(const std::vector<std::vector<WayCost>>& layers, Bytes room) : layers_(layers), room_(room) {}

  std::optional<WayChoice> greedy() {
    WayChoice choice;
    std::vector<Change> changes;
    Bytes bytes;
    for (std::uint32_t i = 0; i < layers_.size(); ++i) {
      if (layers_[i].empty()) return std::nullopt;
      std::uint32_t fastest = 0;
      const auto hull = hull_of(layers_[i], i, fastest);
      changes.insert(changes.end(), hull.begin(), hull.end());
      choice.ways.push_back(fastest);
      choice.seconds += layers_[i][fastest].seconds;
      bytes += layers_[i][fastest].bytes;
    }
    choice.least_seconds = choice.seconds;
    std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.price() < b.price(); });
    for (const Change& change : changes) {
      if (bytes <= room_) break;
      const double share = std::min(1.0, static_cast<double>((bytes - room_).count) / static_cast<double>(change.saved.count));
      choice.least_seconds += share * change.seconds;
      choice.seconds += change.seconds;
      choice.ways[change.layer] = change.to;
      bytes -= change.saved;
    }
    if (bytes > room_) return std::nullopt;
    return choice;
  }

  /// Branch and bound over layers, each with the ways that the hull and the rest leave.
  std::optional<WayChoice> best() {
    auto start = greedy();
    if (!start) return start;
    best_ = *start;
    order_by_size();
    suffix();
    descend(0, 0, Bytes(), std::vector<std::uint32_t>(layers_.size()));
    if (nodes_ < kMostNodes) best_.least_seconds = best_.seconds;
    return best_;
  }

 private:
  void order_by_size() {
    order_.resize(layers_.size());
    std::iota(order_.begin(), order_.end(), 0u);
    const auto spread = [&](std::uint32_t i) {
      const auto [low, high] = std::minmax_element(layers_[i].begin(), layers_[i].end(),
                                                   [](const WayCost& a, const WayCost& b) { return a.bytes < b.bytes; });
      return high->bytes - low->bytes;
    };
    std::stable_sort(order_.begin(), order_.end(), [&](auto a, auto b) { return spread(a) > spread(b); });
  }

  void suffix() {
    rest_.assign(layers_.size() + 1, {});
    for (std::size_t i = layers_.size(); i-- > 0;) {
      rest_[i] = rest_[i + 1];
      rest_[i].push_back(layers_[order_[i]]);
    }
  }

  void descend(std::size_t depth, double seconds, Bytes bytes, std::vector<std::uint32_t> ways) {
    if (++nodes_ >= kMostNodes) return;
    if (depth == layers_.size()) {
      if (seconds < best_.seconds) best_.seconds = seconds, best_.ways = ways;
      return;
    }
    const auto bound = WaySearch(rest_[depth], room_ - bytes).greedy();
    if (!bound || seconds + bound->least_seconds >= best_.seconds) return;
    const std::uint32_t layer = order_[depth];
    for (std::uint32_t k = 0; k < layers_[layer].size(); ++k) {
      ways[layer] = k;
      const WayCost& way = layers_[layer][k];
      if (bytes + way.bytes <= room_) descend(depth + 1, seconds + way.seconds, bytes + way.bytes, ways);
    }
  }

  const std::vector<std::vector<WayCost>>& layers_;
  Bytes room_;
  WayChoice best_;
  std::vector<std::uint32_t> order_;
  std::vector<std::vector<std::vector<WayCost>>> rest_;  ///< by depth, in `order_`
  std::size_t nodes_ = 0;
};

}  // namespace

std::optional<WayChoice> choose_ways(const std::vector<std::vector<WayCost>>& layers, Bytes room) {
  return WaySearch(layers, room).greedy();
}

std::optional<WayChoice> best_ways(const std::vector<std::vector<WayCost>>& layers, Bytes room) {
  return WaySearch(layers, room).best();
}

}  // namespace plimsoll
