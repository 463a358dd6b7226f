#include "gui/timeline/memory_curve.h"

#include <algorithm>
#include <numeric>

namespace plimsoll::gui {

CurvePart curve_part(TensorKind kind) {
  switch (kind) {
    case TensorKind::kParameter: return CurvePart::kParameters;
    case TensorKind::kGradient:
    case TensorKind::kAccumulator: return CurvePart::kGradients;
    case TensorKind::kMaster:
    case TensorKind::kFirstMoment:
    case TensorKind::kSecondMoment: return CurvePart::kOptimizer;
    case TensorKind::kActivationGradient: return CurvePart::kActivationGradients;
    case TensorKind::kWorkspace: return CurvePart::kWorkspace;
    case TensorKind::kTokens:
    case TensorKind::kActivation:
    case TensorKind::kScalar: return CurvePart::kActivations;
  }
  return CurvePart::kActivations;
}

const char* name_of(CurvePart part) {
  switch (part) {
    case CurvePart::kParameters: return "parameters";
    case CurvePart::kOptimizer: return "optimizer";
    case CurvePart::kGradients: return "gradients";
    case CurvePart::kActivations: return "activations";
    case CurvePart::kActivationGradients: return "activation_gradients";
    case CurvePart::kWorkspace: return "workspace";
  }
  return "activations";
}

std::int64_t CurvePoint::total() const { return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0}); }

MemoryCurve::MemoryCurve(std::string space, std::int64_t packed, std::int64_t usable, std::vector<CurvePoint> points)
    : space_(std::move(space)), packed_(packed), usable_(usable), points_(std::move(points)) {
  build_levels();
  const std::size_t highest = highest_of(0, points_.size());
  peak_ = highest == npos ? 0 : highest;
  for (const CurvePoint& point : points_) {
    for (std::size_t part = 0; part < kCurveParts; ++part) parts_[part] = parts_[part] || point.bytes[part] > 0;
  }
}

std::size_t MemoryCurve::higher(std::size_t a, std::size_t b) const {
  if (a == npos) return b;
  if (b == npos) return a;
  const std::int64_t at_a = points_[a].total();
  const std::int64_t at_b = points_[b].total();
  return at_b > at_a || (at_b == at_a && b < a) ? b : a;
}

void MemoryCurve::build_levels() {
  for (std::size_t below = points_.size(); below >= kFanOut; below /= kFanOut) {
    std::vector<std::uint32_t> level(below / kFanOut);
    for (std::size_t n = 0; n < level.size(); ++n) {
      std::size_t best = npos;
      for (std::size_t i = n * kFanOut; i < (n + 1) * kFanOut; ++i)
        best = higher(best, levels_.empty() ? i : levels_.back()[i]);
      level[n] = static_cast<std::uint32_t>(best);
    }
    levels_.push_back(std::move(level));
  }
}

std::size_t MemoryCurve::highest_of(std::size_t first, std::size_t last) const {
  std::size_t best = npos;
  for (std::size_t level = 0; first < last; ++level) {
    const auto at = [&](std::size_t i) { return level == 0 ? i : std::size_t{levels_[level - 1][i]}; };
    const bool top = level == levels_.size();
    while (first < last && (top || first % kFanOut != 0)) best = higher(best, at(first++));
    while (first < last && last % kFanOut != 0) best = higher(best, at(--last));
    first /= kFanOut;
    last /= kFanOut;
  }
  return best;
}

std::size_t MemoryCurve::highest(double begin, double end) const {
  const auto earlier = [](const CurvePoint& point, double time) { return static_cast<double>(point.time) < time; };
  const auto later = [](double time, const CurvePoint& point) { return time < static_cast<double>(point.time); };
  // The point before `begin` holds until the next one.
  auto first = std::upper_bound(points_.begin(), points_.end(), begin, later);
  if (first != points_.begin()) --first;
  const auto last = std::lower_bound(first, points_.end(), end, earlier);
  return highest_of(static_cast<std::size_t>(first - points_.begin()), static_cast<std::size_t>(last - points_.begin()));
}

namespace {

std::vector<CurvePoint> points_of(const SpaceLedger& ledger) {
  std::vector<CurvePoint> points;
  points.reserve(ledger.curve.size());
  for (const LedgerPoint& live : ledger.curve) {
    CurvePoint point{.time = live.time.count};
    for (std::size_t kind = 0; kind < kTensorKinds; ++kind) {
      point.bytes[static_cast<std::size_t>(curve_part(static_cast<TensorKind>(kind)))] += live.live[kind].count;
    }
    points.push_back(point);
  }
  return points;
}

std::vector<LivingBuffer> living(const Plan& plan, const SpaceLedger& ledger) {
  std::vector<LivingBuffer> buffers;
  for (const BufferId id : ledger.live_at_peak) {
    const Buffer& buffer = plan.at(id);
    buffers.push_back({buffer.name, buffer.category, buffer.bytes.count});
  }
  std::stable_sort(buffers.begin(), buffers.end(),
                   [](const LivingBuffer& a, const LivingBuffer& b) { return a.bytes > b.bytes; });
  return buffers;
}

}  // namespace

std::vector<MemoryCurve> memory_curves(const Plan& plan, const MemoryLedger& ledger) {
  std::vector<MemoryCurve> curves;
  for (const SpaceLedger& space : ledger.spaces) {
    if (total(space.peak.live).count == 0) continue;
    const MemorySpace& memory = plan.platform.at(space.space);
    MemoryCurve curve(memory.name, space.packed.count, memory.usable.count, points_of(space));
    curve.at_peak = living(plan, space);
    curves.push_back(std::move(curve));
  }
  return curves;
}

namespace {

/// The samples of one space, each of a category from its time on; samples of one time are one point.
std::vector<CurvePoint> points_of(const std::string& space, const std::vector<MemorySample>& samples) {
  std::vector<CurvePoint> points;
  for (const MemorySample& sample : samples) {
    if (sample.space != space) continue;
    if (points.empty() || points.back().time != sample.time.count) {
      points.push_back(points.empty() ? CurvePoint{} : points.back());
      points.back().time = sample.time.count;
    }
    std::size_t part = 0;
    while (part + 1 < kCurveParts && sample.category != name_of(static_cast<CurvePart>(part))) ++part;
    points.back().bytes[part] = sample.bytes.count;
  }
  return points;
}

}  // namespace

std::vector<MemoryCurve> recorded_curves(const Plan& plan, const std::vector<MemorySample>& samples) {
  std::vector<MemoryCurve> curves;
  for (const MemorySpace& memory : plan.platform.spaces) {
    std::vector<CurvePoint> points = points_of(memory.name, samples);
    std::int64_t most = 0;
    for (const CurvePoint& point : points) most = std::max(most, point.total());
    if (most > 0) curves.emplace_back(memory.name, most, memory.usable.count, std::move(points));
  }
  return curves;
}

}  // namespace plimsoll::gui
