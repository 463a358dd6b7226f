#include "sim/planner/chains/step_curve.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {

const CurveStep* step_at(std::span<const CurveStep> curve, Bytes bytes) {
  const auto after = std::upper_bound(curve.begin(), curve.end(), bytes,
                                      [](Bytes have, const CurveStep& step) { return have < step.bytes; });
  return after == curve.begin() ? nullptr : &*(after - 1);
}

void lower_by(StepCurve& curve, std::span<const CurveStep> other, StepCurve& scratch) {
  scratch.clear();
  if (other.empty()) return;
  const auto within = [](const CurveStep& step, Bytes bytes) { return step.bytes < bytes; };
  const auto begin = std::lower_bound(curve.begin(), curve.end(), other.front().bytes, within);
  const CurveStep* before = begin == curve.begin() ? nullptr : &*(begin - 1);
  auto left = begin;
  for (auto right = other.begin(); right != other.end();) {
    const bool from_left = left != curve.end() && left->bytes <= right->bytes;
    const CurveStep& step = from_left ? *left++ : *right++;
    const CurveStep* known = scratch.empty() ? before : &scratch.back();
    if (known != nullptr && step.seconds >= known->seconds) continue;
    if (!scratch.empty() && step.bytes == known->bytes) scratch.pop_back();
    scratch.push_back(step);
  }
  const double last = !scratch.empty() ? scratch.back().seconds : before->seconds;
  while (left != curve.end() && left->seconds >= last) ++left;
  const auto changed = std::min(left - begin, static_cast<std::ptrdiff_t>(scratch.size()));
  std::copy(scratch.begin(), scratch.begin() + changed, begin);
  if (changed < left - begin) curve.erase(begin + changed, left);
  else curve.insert(left, scratch.begin() + changed, scratch.end());
}

bool thin(StepCurve& curve, std::size_t most, Thinning way) {
  if (curve.size() <= most) return false;
  const double slowest = curve.front().seconds, fastest = curve.back().seconds;
  const double ratio = fastest > 0 ? std::pow(slowest / fastest, 1.0 / static_cast<double>(most)) : 2.0;
  std::size_t kept = 0;
  double edge = slowest / ratio;
  for (std::size_t i = 1; i < curve.size(); ++i) {
    const bool opens = curve[i].seconds <= edge || (way == Thinning::kAbove && i + 1 == curve.size());
    if (opens) {
      curve[++kept] = curve[i];
      edge = curve[i].seconds / ratio;
    } else if (way == Thinning::kBelow) {
      curve[kept].seconds = curve[i].seconds;
    }
  }
  curve.resize(kept + 1);
  return true;
}

}  // namespace plimsoll
