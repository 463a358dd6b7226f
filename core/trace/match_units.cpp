#include "core/trace/match_units.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace plimsoll {
namespace {

using Positions = std::vector<std::uint32_t>;

/// Beyond so many comparisons classes are paired each for itself.
constexpr std::size_t kMostCells = 40'000'000;

class Matcher {
 public:
  Matcher(const UnitStep& predicted, const UnitStep& measured) : a_(predicted.units), b_(measured.units) {
    const auto tells = [](const std::vector<WorkUnit>& units) {
      return std::any_of(units.begin(), units.end(), [](const WorkUnit& unit) { return unit.layer >= 0; });
    };
    for (const UnitPhase phase : {UnitPhase::kForward, UnitPhase::kBackward, UnitPhase::kOptimizer, UnitPhase::kUnknown}) {
      const Positions left = of_phase(a_, phase), right = of_phase(b_, phase);
      const auto told = [&](const std::vector<WorkUnit>& units, const Positions& at) {
        return std::any_of(at.begin(), at.end(), [&](std::uint32_t i) { return units[i].layer >= 0; });
      };
      by_layer_ = told(a_, left) && told(b_, right);
      pair(left, right);
    }
    result_.layers = tells(a_) && tells(b_);
    add_up();
  }
  UnitMatch take() { return std::move(result_); }

 private:
  static Positions of_phase(const std::vector<WorkUnit>& units, UnitPhase phase) {
    Positions found;
    for (std::uint32_t i = 0; i < units.size(); ++i) {
      if (units[i].phase == phase && units[i].sort != UnitClass::kOther) found.push_back(i);
    }
    return found;
  }

  [[nodiscard]] bool alike(std::uint32_t i, std::uint32_t j) const {
    return a_[i].sort == b_[j].sort && (!by_layer_ || a_[i].layer == b_[j].layer || a_[i].layer < 0 || b_[j].layer < 0);
  }

  void pair(const Positions& left, const Positions& right) {
    if (left.size() * right.size() <= kMostCells) return pair_in_order(left, right);
    std::map<UnitClass, std::pair<Positions, Positions>> classes;
    for (const std::uint32_t i : left) classes[a_[i].sort].first.push_back(i);
    for (const std::uint32_t j : right) classes[b_[j].sort].second.push_back(j);
    for (const auto& [sort, both] : classes) {
      for (std::size_t k = 0; k < std::min(both.first.size(), both.second.size()); ++k) take_pair(both.first[k], both.second[k]);
    }
  }

  /// The longest common subsequence.
  void pair_in_order(const Positions& left, const Positions& right) {
    const std::size_t n = left.size(), m = right.size();
    std::vector<std::uint32_t> length((n + 1) * (m + 1), 0);
    const auto at = [&](std::size_t i, std::size_t j) -> std::uint32_t& { return length[i * (m + 1) + j]; };
    for (std::size_t i = n; i-- > 0;) {
      for (std::size_t j = m; j-- > 0;)
        at(i, j) = alike(left[i], right[j]) ? at(i + 1, j + 1) + 1 : std::max(at(i + 1, j), at(i, j + 1));
    }
    for (std::size_t i = 0, j = 0; i < n && j < m;) {
      if (alike(left[i], right[j])) take_pair(left[i++], right[j++]);
      else if (at(i + 1, j) >= at(i, j + 1)) ++i;
      else ++j;
    }
  }

  void take_pair(std::uint32_t i, std::uint32_t j) {
    paired_a_.resize(a_.size());
    paired_b_.resize(b_.size());
    paired_a_[i] = paired_b_[j] = true;
    MatchedClass& sum = sums_[{a_[i].phase, a_[i].sort}];
    sum.phase = a_[i].phase;
    sum.sort = a_[i].sort;
    ++sum.units;
    sum.predicted += a_[i].time;
    sum.measured += b_[j].time;
  }

  static std::vector<UnmatchedName> rest(const std::vector<WorkUnit>& units, std::vector<bool> paired) {
    paired.resize(units.size());
    std::map<std::tuple<UnitPhase, UnitClass, std::string>, UnmatchedName> names;
    for (std::size_t i = 0; i < units.size(); ++i) {
      if (paired[i]) continue;
      UnmatchedName& name = names[{units[i].phase, units[i].sort, units[i].name}];
      name = {units[i].phase, units[i].sort, units[i].name, name.units + 1, name.time + units[i].time};
    }
    std::vector<UnmatchedName> list;
    for (auto& [key, name] : names) list.push_back(std::move(name));
    std::stable_sort(list.begin(), list.end(), [](const UnmatchedName& x, const UnmatchedName& y) { return x.time > y.time; });
    return list;
  }

  void add_up() {
    Nanoseconds predicted, measured;
    for (const auto& [key, sum] : sums_) {
      result_.classes.push_back(sum);
      predicted += sum.predicted;
      measured += sum.measured;
    }
    for (const WorkUnit& unit : a_) result_.predicted_total += unit.time;
    for (const WorkUnit& unit : b_) result_.measured_total += unit.time;
    const auto share = [](Nanoseconds part, Nanoseconds all) {
      return all.count > 0 ? static_cast<double>(part.count) / static_cast<double>(all.count) : 0.0;
    };
    result_.predicted_share = share(predicted, result_.predicted_total);
    result_.measured_share = share(measured, result_.measured_total);
    result_.only_predicted = rest(a_, paired_a_);
    result_.only_measured = rest(b_, paired_b_);
  }

  const std::vector<WorkUnit>& a_;
  const std::vector<WorkUnit>& b_;
  bool by_layer_ = false;
  std::vector<bool> paired_a_;
  std::vector<bool> paired_b_;
  std::map<std::pair<UnitPhase, UnitClass>, MatchedClass> sums_;
  UnitMatch result_;
};

}  // namespace

UnitMatch match_units(const UnitStep& predicted, const UnitStep& measured) { return Matcher(predicted, measured).take(); }

}  // namespace plimsoll
