#include "gui/timeline/rows_image.h"

#include <algorithm>
#include <cmath>

namespace plimsoll::gui {
namespace {

constexpr double kPale = 0.22;       // share of colour of what is not emphasised
constexpr double kGroundTint = 0.5;  // of a row's ground, between window and panel

/// Paints rows one after another into one image.
class RowsPainter {
 public:
  explicit RowsPainter(const RowsRequest& request)
      : request_(request),
        device_(request.scale),
        ground_(mix(request.theme.panel.rgb(), request.theme.window.rgb(), kGroundTint)) {
    const QSize size = request.size * request.ratio;
    painted_.image = QImage(std::max(size.width(), 1), std::max(size.height(), 1), QImage::Format_RGB32);
    painted_.image.fill(request.theme.panel.rgb());
    painted_.ratio = request.ratio;
    painted_.rows.resize(request.scene.rows.size());
    device_.left = 0;
    device_.ns_per_pixel = request.scale.ns_per_pixel / request.ratio;
    device_.width = painted_.image.width();
    colours_ = work_colours(request.theme);
    pale_ = paler(colours_, ground_, kPale);
    pixels_.resize(static_cast<std::size_t>(painted_.image.width()));
  }

  RowsImage run() {
    for (std::size_t row = 0; row < request_.scene.rows.size(); ++row) paint_row(row);
    for (const SceneCurve& curve : request_.scene.curves) paint_curve(curve);
    for (const SceneStrip& strip : request_.scene.strips) paint_strip(strip);
    return std::move(painted_);
  }

 private:
  [[nodiscard]] int device_y(int y) const { return static_cast<int>(std::lround((y - request_.scroll) * request_.ratio)); }

  void paint_row(std::size_t index) {
    const SceneRow& row = request_.scene.rows[index];
    const int top = std::max(device_y(row.top), 0);
    const int bottom = std::min(device_y(row.top + row.height - (row.height > 12 ? 0 : 1)), painted_.image.height());
    if (top >= bottom) return;
    const SceneSource& source = request_.scene.sources[row.source];
    const EventLane& lane = source.timeline->tracks[row.track].lanes[row.lane];
    const TimeScale own = own_scale(device_, source);
    const bool pale = !request_.emphasis.empty();
    const LanePaint paint{source.timeline->labels, pale ? pale_ : colours_, ground_};
    painted_.rows[index] = paint_lane(lane, paint, own, pixels_);
    if (pale) lay_over(request_.emphasis.rows[index], *source.timeline, own, painted_.rows[index]);
    copy_row(top, bottom);
  }

  /// What is emphasised, in full colour, above the pale row.
  void lay_over(const EventLane& lane, const Timeline& timeline, const TimeScale& own, PaintedLane& painted) {
    if (lane.size() == 0) return;
    std::vector<Pixel> over(pixels_.size());
    paint_lane(lane, {timeline.labels, colours_, ground_}, own, over);
    for (std::size_t x = 0; x < over.size(); ++x) {
      if (over[x] != ground_) pixels_[x] = over[x];
    }
    painted.gaps.clear();
  }

  void copy_row(int top, int bottom) {
    for (int y = top; y < bottom; ++y) {
      std::copy(pixels_.begin(), pixels_.end(), reinterpret_cast<Pixel*>(painted_.image.scanLine(y)));
    }
  }

  /// A line of pixels a block, or several, or one for several blocks.
  void paint_strip(const SceneStrip& at) {
    const int top = device_y(at.top), bottom = device_y(at.top + at.height);
    if (bottom <= 0 || top >= painted_.image.height()) return;
    const SceneSource& source = request_.scene.sources[at.source];
    const auto& lanes = source.timeline->strips[at.strip].lanes;
    const PlaceColours colours = place_colours(request_.theme);
    std::size_t painted = lanes.size();
    for (int y = std::max(top, 0); y < std::min(bottom, painted_.image.height()); ++y) {
      const auto lane = static_cast<std::size_t>(y - top) * lanes.size() / static_cast<std::size_t>(bottom - top);
      if (lane != painted) paint_lane(lanes[lane], {place_labels(), colours, ground_}, own_scale(device_, source), pixels_);
      painted = lane;
      copy_row(y, y + 1);
    }
  }

  void paint_curve(const SceneCurve& at) {
    const SceneSource& source = request_.scene.sources[at.source];
    const MemoryCurve& curve = source.timeline->curves[at.curve];
    const int top = device_y(at.top);
    const int bottom = device_y(at.top + at.height);
    if (bottom <= 0 || top >= painted_.image.height()) return;
    const TimeScale own = own_scale(device_, source);
    const double a_byte = (bottom - top) / curve_top(curve);
    for (int x = 0; x < painted_.image.width(); ++x) {
      fill_column(x, top, bottom, ground_);
      const std::size_t point = curve.highest(own.time_at(x), own.time_at(x + 1));
      if (point != MemoryCurve::npos && own.time_at(x) < source.timeline->bounds.end) {
        stack_column(x, bottom, a_byte, curve.points()[point]);
      }
    }
  }

  void stack_column(int x, int bottom, double a_byte, const CurvePoint& point) {
    double height = 0;
    int reached = bottom;
    for (std::size_t part = 0; part < kCurveParts; ++part) {
      height += static_cast<double>(point.bytes[part]) * a_byte;
      const int next = bottom - static_cast<int>(std::lround(height));
      fill_column(x, next, reached, request_.theme.category(name_of(static_cast<CurvePart>(part))).rgb());
      reached = next;
    }
  }

  void fill_column(int x, int top, int bottom, Pixel pixel) {
    for (int y = std::max(top, 0); y < std::min(bottom, painted_.image.height()); ++y) {
      reinterpret_cast<Pixel*>(painted_.image.scanLine(y))[x] = pixel;
    }
  }

  const RowsRequest& request_;
  TimeScale device_;
  Pixel ground_;
  WorkColours colours_{};
  WorkColours pale_{};
  std::vector<Pixel> pixels_;
  RowsImage painted_;
};

}  // namespace

RowsImage paint_rows(const RowsRequest& request) { return RowsPainter(request).run(); }

double curve_top(const MemoryCurve& curve) {
  constexpr double kRoom = 1.12;
  constexpr double kNear = 1.6;  // a mark further up than that would squeeze the curve
  const double peak = curve.points().empty() ? 1 : static_cast<double>(curve.points()[curve.peak()].total());
  const double highest = std::max({peak, static_cast<double>(curve.packed()), 1.0});
  const auto usable = static_cast<double>(curve.usable());
  return (usable > highest && usable < highest * kNear ? usable : highest) * kRoom;
}

}  // namespace plimsoll::gui
