#include "sim/planner/strategy_families.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

namespace plimsoll {
namespace {

std::vector<std::int64_t> recompute_choices(std::int64_t layers) {
  const auto root = static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(layers))));
  std::set<std::int64_t> choices{1, 2, std::max<std::int64_t>(1, root)};
  return {choices.begin(), choices.end()};
}

bool on_ssd(const Strategy& s) {
  return s.parameters == Tier::kSsd || s.optimizer == Tier::kSsd || s.gradients == Tier::kSsd || s.activations == Tier::kSsd;
}

std::string base_of(const Strategy& s) {
  if (s.parameters != Tier::kDevice) return "stream";
  if (s.optimizer != Tier::kDevice) return "offload-optimizer";
  if (s.activations != Tier::kDevice) return "offload-activations";
  return s.recompute_every > 0 ? "recompute" : "resident";
}

/// Collects starting points.
class Families {
 public:
  /// One strategy for each recompute rule, named after its family.
  void add(Strategy strategy, const std::vector<std::int64_t>& recompute) {
    for (const std::int64_t every : recompute) {
      strategy.recompute_every = every;
      strategy.name = family_of(strategy);
      all.push_back(strategy);
    }
  }

  std::vector<Strategy> all;
};

/// States of all blocks come to the device for their update: where the CPU would be slower than the links, as whole matrices'
/// rules make it.
void add_device_updates(Families& of, std::int64_t layers) {
  for (const Tier parameters : {Tier::kDevice, Tier::kHost}) {
    const bool streams = parameters != Tier::kDevice;
    of.add({.parameters = parameters, .optimizer = Tier::kHost, .gradients = streams ? Tier::kHost : Tier::kDevice,
            .device_update_blocks = layers}, {0, 1});
    of.add({.parameters = parameters, .optimizer = Tier::kHost, .gradients = Tier::kHost, .update_in_backward = true,
            .device_update_blocks = layers}, {0, 1});
  }
  of.add({.parameters = Tier::kHost, .optimizer = Tier::kHost, .gradients = Tier::kHost, .activations = Tier::kHost, .activation_blocks = layers,
          .device_update_blocks = layers}, {1});
  for (const Tier parameters : {Tier::kDevice, Tier::kSsd}) {
    of.add({.parameters = parameters, .optimizer = Tier::kSsd, .gradients = Tier::kHost, .device_update_blocks = layers,
            .staging_slots = 3}, {1});
  }
}

}  // namespace

std::string family_of(const Strategy& strategy) {
  std::string name = base_of(strategy);
  if (strategy.device_update_blocks > 0) name += "-device-update";
  if (strategy.update_in_backward) name += "-overlapped";
  if (on_ssd(strategy)) name += "-ssd";
  return name;
}

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const Strategy& strategy : all_candidate_strategies(4, Precision::kBf16Mixed)) {
    if (std::find(names.begin(), names.end(), strategy.name) == names.end()) names.push_back(strategy.name);
  }
  return names;
}

std::vector<Strategy> all_candidate_strategies(std::int64_t layers, Precision precision, bool frozen) {
  const std::vector<std::int64_t> some = recompute_choices(layers);
  std::vector<std::int64_t> none_or_some{0};
  none_or_some.insert(none_or_some.end(), some.begin(), some.end());
  Families of;
  of.add({}, none_or_some);
  for (const Tier gradients : {Tier::kDevice, Tier::kHost}) {
    of.add({.optimizer = Tier::kHost, .gradients = gradients}, none_or_some);
  }
  of.add({.optimizer = Tier::kHost, .gradients = Tier::kHost, .update_in_backward = true}, none_or_some);
  const std::int64_t but_last = std::max<std::int64_t>(1, layers - 1);  // the last block's backward pass comes at once
  for (const Tier activations : {Tier::kHost, Tier::kSsd}) {
    of.add({.activations = activations, .activation_blocks = but_last}, {0, 1});
  }
  of.add({.parameters = Tier::kHost, .optimizer = Tier::kHost, .gradients = Tier::kHost}, none_or_some);
  of.add({.parameters = Tier::kHost, .optimizer = Tier::kHost, .gradients = Tier::kHost, .activations = Tier::kHost, .activation_blocks = layers}, {1});
  of.add({.optimizer = Tier::kSsd, .gradients = Tier::kHost, .staging_slots = 3}, none_or_some);
  of.add({.optimizer = Tier::kSsd, .gradients = Tier::kHost, .update_in_backward = true, .staging_slots = 3}, none_or_some);
  for (const Tier parameters : {Tier::kHost, Tier::kSsd}) {
    if (parameters == Tier::kHost && !has_master_copy(precision)) continue;  // fp32 weights are the optimizer's own
    of.add({.parameters = parameters, .optimizer = Tier::kSsd, .gradients = Tier::kHost}, some);
  }
  for (const Tier parameters : {Tier::kHost, Tier::kSsd}) {
    if (frozen) of.add({.parameters = parameters}, none_or_some);
  }
  add_device_updates(of, layers);
  return of.all;
}

std::vector<Strategy> candidate_strategies(std::int64_t layers, const Platform& platform, Precision precision, bool frozen) {
  std::vector<Strategy> all = all_candidate_strategies(layers, precision, frozen);
  if (!platform.space(SpaceKind::kSsd)) std::erase_if(all, on_ssd);
  return all;
}

}  // namespace plimsoll
