#include "gui/explore/load_line_layout.h"

#include <algorithm>
#include <array>
#include <utility>

namespace plimsoll::gui {

LoadLineLayout lay_out_load_line(const SpaceAnswer& space, const QRectF& bar) {
  LoadLineLayout layout;
  const Bytes whole = std::max({space.capacity, space.peak, Bytes(1)});
  const double scale = bar.width() / static_cast<double>(whole.count);
  const auto x = [&](Bytes bytes) { return bar.left() + static_cast<double>(bytes.count) * scale; };
  const auto between = [&](Bytes from, Bytes to) { return QRectF(QPointF(x(from), bar.top()), QPointF(x(to), bar.bottom())); };
  const auto& by = space.by_category;
  const std::array<std::pair<std::string_view, Bytes>, 5> parts{{{"parameters", by.parameters}, {"gradients", by.gradients},
                                                                 {"optimizer", by.optimizer}, {"activations", by.activations},
                                                                 {"workspace", by.workspace}}};
  Bytes at;
  const auto put = [&](std::string_view category, Bytes bytes) {
    if (bytes.count <= 0) return;
    layout.segments.push_back({category, bytes, between(at, at + bytes)});
    at += bytes;
  };
  for (const auto& [category, bytes] : parts) put(category, std::min(bytes, space.peak - at));
  put("slack", space.peak - at);
  layout.mark = x(space.usable);
  if (space.usable < space.capacity) layout.unusable = between(space.usable, space.capacity);
  if (space.peak > space.usable) layout.overflow = between(space.usable, space.peak);
  return layout;
}

const SpaceAnswer* deciding_space(const std::vector<SpaceAnswer>& memory) {
  const auto share = [](const SpaceAnswer& space) {
    return static_cast<double>(space.peak.count) / static_cast<double>(std::max<std::int64_t>(space.usable.count, 1));
  };
  const auto decides_less = [&](const SpaceAnswer& a, const SpaceAnswer& b) {
    const bool short_of = std::min(a.margin(), b.margin()) < Bytes(0);
    return short_of ? a.margin() > b.margin() : share(a) < share(b);
  };
  const auto most = std::max_element(memory.begin(), memory.end(), decides_less);
  return most == memory.end() ? nullptr : &*most;
}

}  // namespace plimsoll::gui
