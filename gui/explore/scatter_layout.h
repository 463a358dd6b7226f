#pragma once

#include <QPointF>
#include <QRectF>

#include <optional>
#include <vector>

#include "core/base/quantity.h"
#include "core/plan/strategy.h"
#include "gui/explore/verdict.h"

namespace plimsoll::gui {

/// A strategy in the plane of device memory and step time.
struct ScatterPoint {
  Strategy strategy;
  Bytes device;        ///< what it needs of the device
  double seconds = 0;  ///< its step; of one that does not fit, what it would take
  bool fits = true;
  bool told = false;   ///< of the strategy only the name is known: the plimsoll program told of it
  bool best = false;   ///< no other that fits is both faster and smaller
};

/// The points of a verdict: every candidate that was timed, and the families that do not fit with what they would take.
std::vector<ScatterPoint> scatter_points(const Verdict& verdict);

/// Marks the points that no other fitting one beats in both.
void mark_best(std::vector<ScatterPoint>& points);

/// How the plane is drawn: memory to the right, time upwards (by its logarithm).
class ScatterScale {
 public:
  /// Holds the usable memory and as much again; what needs more than that stands at the right edge.
  ScatterScale(const std::vector<ScatterPoint>& points, Bytes usable, const QRectF& plot);

  [[nodiscard]] double x(Bytes device) const;
  [[nodiscard]] bool beyond(Bytes device) const { return static_cast<double>(device.count) > most_bytes_; }
  [[nodiscard]] double y(double seconds) const;
  [[nodiscard]] QPointF at(const ScatterPoint& point) const { return {x(point.device), y(point.seconds)}; }
  /// Where axes have marks: round values, those of memory evenly and at least `apart` pixels from each other.
  [[nodiscard]] std::vector<Bytes> memory_marks(double apart) const;
  [[nodiscard]] std::vector<double> time_marks() const;

 private:
  QRectF plot_;
  double most_bytes_ = 1;
  double low_ = 0;   ///< logarithms of seconds
  double high_ = 1;
};

/// The point nearest to a place, if any lies within `reach`.
std::optional<std::size_t> point_at(const std::vector<ScatterPoint>& points, const ScatterScale& scale, QPointF place,
                                    double reach);

}  // namespace plimsoll::gui
