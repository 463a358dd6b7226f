#include "gui/timeline/paint_lane.h"

#include <algorithm>
#include <cmath>

namespace plimsoll::gui {
namespace {

constexpr double kPalest = 0.4;      // share of colour of the emptiest column that holds anything
constexpr int kSeparatedPixels = 4;  // boxes of so many columns show where they end
constexpr double kSeparator = 0.55;  // share of colour of a box's last column

/// Walks along the columns; `next_` is the first event that ends after the column's begin.
class RowPainter {
 public:
  RowPainter(const EventLane& lane, const LanePaint& paint, const TimeScale& scale, std::span<Pixel> row)
      : lane_(lane), paint_(paint), scale_(scale), row_(row), width_(static_cast<int>(row.size())) {}

  PaintedLane run() {
    int x = 0;
    while (x < width_) {
      const double begin = time_at(x);
      const double end = time_at(x + 1);
      next_ = lane_.first_ending_after(begin, next_);
      if (next_ == lane_.size()) {
        fill(x, width_, paint_.ground);
        break;
      }
      if (static_cast<double>(lane_.start(next_)) >= end) {
        x = paint_gap(x);
      } else if (static_cast<double>(lane_.start(next_)) <= begin && static_cast<double>(lane_.end(next_)) >= end) {
        x = paint_box(x);
      } else {
        row_[static_cast<std::size_t>(x)] = column(begin, end);
        ++x;
      }
    }
    return std::move(painted_);
  }

 private:
  [[nodiscard]] double time_at(int x) const { return scale_.begin + x * scale_.ns_per_pixel; }
  [[nodiscard]] Pixel colour(std::size_t event) const { return paint_.colours[paint_.labels[lane_.label(event)].paint]; }

  void fill(int left, int right, Pixel pixel) {
    std::fill(row_.begin() + left, row_.begin() + right, pixel);
  }

  /// The column in which `time` lies, within the row.
  [[nodiscard]] int column_of(double time) const {
    return static_cast<int>(std::clamp((time - scale_.begin) / scale_.ns_per_pixel, 0.0, static_cast<double>(width_)));
  }

  int paint_gap(int x) {
    const int right = std::max(column_of(static_cast<double>(lane_.start(next_))), x + 1);
    fill(x, right, paint_.ground);
    if (right - x >= kGapPixels && next_ > 0) painted_.gaps.push_back({static_cast<std::uint32_t>(next_), x, right});
    return right;
  }

  int paint_box(int x) {
    const int right = std::max(column_of(static_cast<double>(lane_.end(next_))), x + 1);
    fill(x, right, colour(next_));
    if (right - x >= kSeparatedPixels && right < width_) {
      row_[static_cast<std::size_t>(right - 1)] = mix(paint_.ground, colour(next_), kSeparator);
    }
    if (right - x >= kLabelledPixels) painted_.boxes.push_back({static_cast<std::uint32_t>(next_), x, right});
    return right;
  }

  [[nodiscard]] Pixel column(double begin, double end) const {
    const std::size_t last = lane_.first_starting_from(end, next_);
    const LaneBucket held = lane_.bucket(next_, last);
    if (held.longest == LaneBucket::kNone) return paint_.ground;
    double busy = static_cast<double>(held.busy);
    busy -= std::max(begin - static_cast<double>(lane_.start(next_)), 0.0);
    busy -= std::max(static_cast<double>(lane_.end(last - 1)) - end, 0.0);
    const double share = std::clamp(busy / (end - begin), 0.0, 1.0);
    return mix(paint_.ground, colour(held.longest), kPalest + (1 - kPalest) * share);
  }

  const EventLane& lane_;
  const LanePaint& paint_;
  const TimeScale& scale_;
  std::span<Pixel> row_;
  int width_;
  std::size_t next_ = 0;
  PaintedLane painted_;
};

}  // namespace

Pixel mix(Pixel bottom, Pixel top, double share) {
  const auto weight = static_cast<std::uint32_t>(std::lround(std::clamp(share, 0.0, 1.0) * 256));
  Pixel mixed = 0xff000000u;
  for (const int shift : {0, 8, 16}) {
    const std::uint32_t low = (bottom >> shift) & 0xffu;
    const std::uint32_t high = (top >> shift) & 0xffu;
    mixed |= ((low * (256 - weight) + high * weight) >> 8) << shift;
  }
  return mixed;
}

PaintedLane paint_lane(const EventLane& lane, const LanePaint& paint, const TimeScale& scale, std::span<Pixel> row) {
  return RowPainter(lane, paint, scale, row).run();
}

}  // namespace plimsoll::gui
