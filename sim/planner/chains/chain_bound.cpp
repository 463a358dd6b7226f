#include "sim/planner/chains/chain_bound.h"

#include <algorithm>

namespace plimsoll {
namespace {

struct Point {
  double bytes = 0;
  double seconds = 0;
};

/// From one choice for a block to one that saves more: seconds saved a byte.
struct Exchange {
  double bytes = 0;
  double seconds = 0;

  [[nodiscard]] double rate() const { return seconds / bytes; }
};

double whole_seconds(const ChainOption& option) { return option.forward_seconds + option.backward_seconds; }

/// What a block may cost by the bytes it holds at that moment: nothing, and it runs once more; or those of an option.
std::vector<Point> choices_of(const ChainBlock& block) {
  double forward = block.forward_only_seconds, whole = whole_seconds(block.options.front());
  for (const ChainOption& option : block.options) {
    forward = std::min(forward, option.forward_seconds);
    whole = std::min(whole, whole_seconds(option));
  }
  std::vector<Point> points{{0, forward + whole}};
  for (const ChainOption& option : block.options) {
    points.push_back({static_cast<double>(option.saved.count), whole_seconds(option)});
  }
  return points;
}

/// The fastest choice without a byte, then the exchanges along the lower convex hull, best rate first.
double hull_of(std::vector<Point> points, std::vector<Exchange>& exchanges) {
  std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.seconds < b.seconds;
  });
  std::vector<Point> hull;
  for (const Point& point : points) {
    if (!hull.empty() && point.seconds >= hull.back().seconds) continue;
    const auto is_above = [&](const Point& low, const Point& middle) {
      return (low.seconds - middle.seconds) * (point.bytes - low.bytes) <=
             (low.seconds - point.seconds) * (middle.bytes - low.bytes);
    };
    while (hull.size() > 1 && is_above(hull[hull.size() - 2], hull.back())) hull.pop_back();
    hull.push_back(point);
  }
  for (std::size_t i = 1; i < hull.size(); ++i) {
    exchanges.push_back({hull[i].bytes - hull[i - 1].bytes, hull[i - 1].seconds - hull[i].seconds});
  }
  return hull.front().seconds;
}

}  // namespace

std::optional<double> chain_bound(const BlockChain& chain, Bytes budget) {
  const ChainBlock& last = chain.blocks.back();
  std::optional<Bytes> least;
  double seconds = whole_seconds(last.options.front());
  for (const ChainOption& option : last.options) {
    const Bytes need = last.input + option.saved + option.backward_temporary;
    least = least ? std::min(*least, need) : need;
    seconds = std::min(seconds, whole_seconds(option));
  }
  if (*least > budget) return std::nullopt;
  std::vector<Exchange> exchanges;
  for (std::size_t i = 0; i + 1 < chain.blocks.size(); ++i) seconds += hull_of(choices_of(chain.blocks[i]), exchanges);
  std::sort(exchanges.begin(), exchanges.end(),
            [](const Exchange& a, const Exchange& b) { return a.rate() > b.rate(); });
  auto room = static_cast<double>((budget - *least).count);
  for (const Exchange& exchange : exchanges) {
    const double share = std::min(1.0, room / exchange.bytes);
    seconds -= share * exchange.seconds;
    room -= share * exchange.bytes;
  }
  return seconds;
}

}  // namespace plimsoll
