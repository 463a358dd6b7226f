#include "sim/parallel/two_level_exchange.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "sim/parallel/collectives.h"

namespace plimsoll {
namespace {

constexpr double kUsualShare = 0.95;  // of steps in which the largest load is below TwoLevelLoad::seldom

double real(std::int64_t n) { return static_cast<double>(n); }

double above(double z) { return std::erfc(z / std::numbers::sqrt2) / 2; }

/// The z that the largest of so many normal numbers stays below in kUsualShare of all cases.
double usual_largest(std::int64_t count) {
  double low = -10, high = 10;
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    (real(count) * std::log1p(-above(middle)) < std::log(kUsualShare) ? low : high) = middle;
  }
  return high;
}

tl::unexpected<Error> refuse(std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = "--gating", .remedy = std::move(remedy)});
}

}  // namespace

Result<TwoLevelGating> two_level_gating(const ExpertSpec& experts, const ParallelLayout& layout, const GroupChoice& choice) {
  if (experts.count == 0)
    return refuse("two gates need experts, and the model has none", "leave --gating out or add experts=N");
  if (choice.groups < 1 || choice.chosen < 1 || choice.chosen > choice.groups)
    return refuse(fmt::format("{} of {} groups cannot be chosen", choice.chosen, choice.groups),
                  "choose at least one, and no more than there are");
  if (experts.count % choice.groups != 0)
    return refuse(fmt::format("{} experts do not divide into {} groups", experts.count, choice.groups),
                  "take a divisor of the experts");
  if (experts.per_token % choice.chosen != 0)
    return refuse(fmt::format("a token's {} experts do not divide over {} chosen groups", experts.per_token, choice.chosen),
                  "let a token choose a divisor of its experts");
  if (layout.expert_ranks % choice.groups != 0)
    return refuse(fmt::format("{} groups do not divide {} expert ranks", choice.groups, layout.expert_ranks),
                  "take a multiple of the groups for --ep");
  const TwoLevelGating gating{.groups = choice.groups,
                              .experts_per_group = experts.count / choice.groups,
                              .groups_per_token = choice.chosen,
                              .experts_per_chosen = experts.per_token / choice.chosen};
  if (gating.experts_per_chosen > gating.experts_per_group)
    return refuse(fmt::format("a group has {} experts, of which a token cannot choose {}", gating.experts_per_group,
                              gating.experts_per_chosen),
                  "choose more groups or have fewer");
  return gating;
}

TwoLevelExchange two_level_exchange(const TwoLevelGating& gating, double bytes, double imbalance,
                                    const ParallelLayout& layout, const Cluster& cluster) {
  const std::int64_t of_group = layout.expert_ranks / gating.groups, stride = layout.tensor_ranks * layout.context_ranks;
  const RankGroup across = strided_group(gating.groups, stride * of_group, cluster),
                  inside = strided_group(of_group, stride, cluster);
  return {.between = seconds_of(Collective::kAllToAll, bytes * imbalance * real(gating.groups_per_token), across, cluster),
          .within = seconds_of(Collective::kAllToAll, bytes * imbalance * real(gating.experts_per_token()), inside, cluster)};
}

double TwoLevelLoad::refused(double capacity) const {
  if (deviation <= 0) return std::fmax(0, 1 - capacity);
  const double z = (capacity - 1) / deviation;
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
  return deviation * (density - z * above(z));
}

TwoLevelLoad two_level_load(const TwoLevelGating& gating, double tokens, std::int64_t parts) {
  if (parts < 2) return {};
  const double group_share = real(gating.groups_per_token) / real(gating.groups);
  const double visitors = tokens * group_share, visitors_variance = visitors * (1 - group_share);
  const double part_share = real(gating.groups) / real(parts);
  const double n = real(gating.experts_per_group), k = real(gating.experts_per_chosen);
  const double others = n > 1 ? (n - k) / (n - 1) : 0;
  const double mean = k * part_share, variance = k * part_share * (1 - part_share) * others;
  const double deviation = std::sqrt(visitors * variance + visitors_variance * mean * mean) / (visitors * mean);
  return {.deviation = deviation,
          .fullest = 1 + std::sqrt(2 * std::log(real(parts))) * deviation,
          .seldom = 1 + usual_largest(parts) * deviation};
}

}  // namespace plimsoll
