#include "gui/explore/scatter_layout.h"

#include <algorithm>
#include <cmath>

namespace plimsoll::gui {
namespace {

constexpr double kLeastDecades = 0.8;  ///< so much of the time axis has two marks wherever it begins

Bytes device_need(const Candidate& candidate, const Platform& platform) {
  for (const SpaceNeed& need : candidate.needs) {
    if (platform.at(need.space).kind == SpaceKind::kDevice) return need.needed;
  }
  return Bytes(0);
}

}  // namespace

void mark_best(std::vector<ScatterPoint>& points) {
  std::vector<ScatterPoint*> fitting;
  for (ScatterPoint& point : points) {
    if (point.fits) fitting.push_back(&point);
  }
  std::sort(fitting.begin(), fitting.end(), [](auto* a, auto* b) {
    return std::pair(a->device.count, a->seconds) < std::pair(b->device.count, b->seconds);
  });
  double fastest = HUGE_VAL;
  for (ScatterPoint* point : fitting) {
    point->best = point->seconds < fastest;
    fastest = std::min(fastest, point->seconds);
  }
}

std::vector<ScatterPoint> scatter_points(const Verdict& verdict) {
  std::vector<ScatterPoint> points;
  for (const Candidate& candidate : verdict.candidates) {
    const Platform& platform = verdict.plan->plan.platform;
    if (candidate.glanced || !candidate.step || !candidate.fits()) continue;
    points.push_back({.strategy = candidate.strategy,
                      .device = device_need(candidate, platform),
                      .seconds = to_seconds(*candidate.step)});
  }
  for (const AlternativeAnswer& other : verdict.answer().alternatives) {
    if (other.fits() && verdict.plan) continue;  // among the candidates
    points.push_back({.strategy = other.choices, .device = other.peak, .seconds = other.step_seconds, .fits = other.fits(),
                      .told = !verdict.plan});
  }
  if (!verdict.answer().fits || !verdict.plan || points.empty()) {
    const FitAnswer& answer = verdict.answer();
    const Bytes device = answer.memory.empty() ? Bytes(0) : answer.memory.front().peak;
    points.push_back({.strategy = answer.strategy, .device = device, .seconds = answer.step_seconds, .fits = answer.fits,
                      .told = !verdict.plan});
  }
  mark_best(points);
  return points;
}

ScatterScale::ScatterScale(const std::vector<ScatterPoint>& points, Bytes usable, const QRectF& plot) : plot_(plot) {
  const double room_beyond = 2 * static_cast<double>(usable.count);
  double most = static_cast<double>(usable.count), low = HUGE_VAL, high = 0;
  for (const ScatterPoint& point : points) {
    most = std::max(most, std::min(static_cast<double>(point.device.count), room_beyond));
    low = std::min(low, point.seconds);
    high = std::max(high, point.seconds);
  }
  most_bytes_ = std::max(1.0, most * 1.06);
  if (!(low < HUGE_VAL) || low <= 0) low = 1e-3, high = 1;
  const double apart = std::log10(high) - std::log10(low);
  const double room = std::max({0.12, 0.08 * apart, (kLeastDecades - apart) / 2});
  low_ = std::log10(low) - room;
  high_ = std::log10(high) + room;
}

double ScatterScale::x(Bytes device) const {
  return plot_.left() + plot_.width() * std::min(1.0, static_cast<double>(device.count) / most_bytes_);
}

double ScatterScale::y(double seconds) const {
  const double place = (std::log10(std::max(seconds, 1e-12)) - low_) / (high_ - low_);
  return plot_.bottom() - plot_.height() * place;
}

std::vector<Bytes> ScatterScale::memory_marks(double apart) const {
  const double gib = most_bytes_ / static_cast<double>(kGiB.count);
  double step = std::pow(2.0, std::floor(std::log2(gib / 3)));
  while (step < gib && plot_.width() * step / gib < apart) step *= 2;
  std::vector<Bytes> marks;
  for (double at = 0; at <= gib; at += step) marks.emplace_back(std::llround(at * static_cast<double>(kGiB.count)));
  return marks;
}

std::vector<double> ScatterScale::time_marks() const {
  std::vector<double> marks;
  const std::vector<double> steps = high_ - low_ > 2 ? std::vector<double>{1} : std::vector<double>{1, 2, 5};
  for (int decade = static_cast<int>(std::floor(low_)); decade <= static_cast<int>(std::ceil(high_)); ++decade) {
    for (const double step : steps) {
      const double value = step * std::pow(10.0, decade);
      if (std::log10(value) >= low_ && std::log10(value) <= high_) marks.push_back(value);
    }
  }
  return marks;
}

std::optional<std::size_t> point_at(const std::vector<ScatterPoint>& points, const ScatterScale& scale, QPointF place,
                                    double reach) {
  std::optional<std::size_t> nearest;
  double least = reach * reach;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const QPointF apart = scale.at(points[i]) - place;
    const double distance = QPointF::dotProduct(apart, apart);
    if (distance <= least) least = distance, nearest = i;
  }
  return nearest;
}

}  // namespace plimsoll::gui
