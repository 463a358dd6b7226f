#include "sim/planner/strategy_moves.h"

#include <algorithm>

#include "sim/planner/strategy_families.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kMostSlots = 64;
constexpr std::int64_t kMostOutputs = 24;  // more kernels than a block has
constexpr Tier kTiers[] = {Tier::kDevice, Tier::kHost, Tier::kSsd};

/// Collects the possible ones among changed copies of a strategy.
class Moves {
 public:
  Moves(const Strategy& from, const MoveLimits& limits) : from_(from), limits_(limits) {}

  template <typename Change>
  void change(Change change) {
    Strategy to = from_;
    change(to);
    if (to == from_ || !possible(to)) return;
    to.name = family_of(to);
    if (std::find(found.begin(), found.end(), to) == found.end()) found.push_back(std::move(to));
  }

  /// Where nothing is computed again, nothing is an exception to it.
  void recompute() {
    const std::int64_t now = from_.recompute_every;
    for (const std::int64_t value : {std::int64_t{0}, now - 1, now + 1, now / 2, now * 2}) {
      if (value < 0 || value > limits_.layers) continue;
      change([&](Strategy& to) {
        to.recompute_every = value;
        if (value == 0) to.kept_outputs = 0;
      });
    }
  }

  void count(std::int64_t Strategy::*field, std::int64_t low, std::int64_t high) {
    const std::int64_t now = from_.*field;
    for (const std::int64_t value : {low, now - 1, now + 1, now / 2, now * 2}) {
      if (value >= low && value <= high) change([&](Strategy& to) { to.*field = value; });
    }
  }

  void share(std::int64_t Strategy::*field, std::int64_t low, std::int64_t room = 0) {
    const std::int64_t now = from_.*field;
    const auto go = [&](std::int64_t by) {
      change([&](Strategy& to) {
        to.*field = std::clamp(now + by, low, limits_.layers);
        const bool updates_all = from_.device_update_blocks > 0 && from_.device_state_blocks + from_.device_update_blocks == limits_.layers;
        const bool keeps_all = updates_all && field == &Strategy::device_state_blocks;
        to.device_update_blocks = keeps_all ? limits_.layers - to.device_state_blocks
                                            : std::min(to.device_update_blocks, limits_.layers - to.device_state_blocks);
      });
    };
    go(room);
    go(room / 2);
    for (std::int64_t step = 1; step < 4 * limits_.layers; step *= 4) {
      go(-step);
      go(step);
    }
  }

  std::vector<Strategy> found;

 private:
  [[nodiscard]] bool possible(const Strategy& s) const {
    const bool ssd = s.parameters == Tier::kSsd || s.optimizer == Tier::kSsd || s.gradients == Tier::kSsd ||
                     s.activations == Tier::kSsd;
    const bool device_updates = s.optimizer == Tier::kDevice;
    if (ssd && !limits_.has_ssd) return false;
    if (device_updates && s.parameters != Tier::kDevice && !limits_.frozen) return false;
    if (device_updates && s.gradients != Tier::kDevice) return false;
    if (s.host_state_blocks > 0 && s.optimizer != Tier::kSsd) return false;
    if (s.device_state_blocks + std::max(s.host_state_blocks, s.device_update_blocks) > limits_.layers) return false;
    if ((s.device_state_blocks > 0 || s.device_update_blocks > 0) && limits_.delayed) return false;
    if (s.update_in_backward && limits_.delayed) return false;
    if (s.host_activation_blocks > (s.activations == Tier::kSsd ? s.activation_blocks : 0)) return false;
    return s.loop_order == LoopOrder::kDepthFirst || limits_.micro_batches > 1;
  }

  const Strategy& from_;
  const MoveLimits& limits_;
};

void move_tiers(Moves& moves, const MoveLimits& limits) {
  for (const Tier tier : kTiers) {
    moves.change([&](Strategy& to) {
      to.parameters = tier;
      if (tier == Tier::kDevice) to.device_parameter_blocks = 0;
    });
    moves.change([&](Strategy& to) {
      to.optimizer = tier;
      to.host_state_blocks = 0;
      if (tier == Tier::kDevice) to.device_state_blocks = to.device_update_blocks = 0;
      if (tier == Tier::kDevice) to.gradients = Tier::kDevice;
    });
    moves.change([&](Strategy& to) { to.gradients = tier; });
    moves.change([&](Strategy& to) {
      to.activations = tier;
      to.host_activation_blocks = 0;
      if (tier == Tier::kDevice) to.activation_blocks = 0;
      else if (to.activation_blocks == 0) to.activation_blocks = limits.layers;
    });
  }
}

/// Activations leave the device instead of being computed again: all that are kept, or some outputs of each block.
void offload_instead(Moves& moves, Tier tier, std::int64_t kept, std::int64_t blocks, std::int64_t states) {
  moves.change([&](Strategy& to) {
    to.recompute_every = kept > 0 ? 1 : 0;
    to.kept_outputs = kept;
    to.activations = tier;
    to.host_activation_blocks = 0;
    to.activation_blocks = std::max<std::int64_t>(1, blocks);
    to.device_state_blocks = states;
  });
}

}  // namespace

std::vector<Strategy> moves_from(const Strategy& from, const MoveLimits& limits) {
  Moves moves(from, limits);
  move_tiers(moves, limits);
  moves.change([](Strategy& to) { to.update_in_backward = !to.update_in_backward; });
  moves.change([](Strategy& to) {
    to.loop_order = to.loop_order == LoopOrder::kDepthFirst ? LoopOrder::kBreadthFirst : LoopOrder::kDepthFirst;
  });
  moves.recompute();
  if (from.recompute_every > 0) {  // where memory forces recomputation, dropping it and offloading are no improvements one by one
    for (const Tier tier : {Tier::kHost, Tier::kSsd}) offload_instead(moves, tier, 0, limits.layers, from.device_state_blocks);
  }
  if (from.recompute_every > 0) moves.count(&Strategy::kept_outputs, 0, kMostOutputs);
  moves.count(&Strategy::staging_slots, 1, kMostSlots);
  if (from.activations != Tier::kDevice) moves.share(&Strategy::activation_blocks, 1);
  if (from.activations == Tier::kSsd) moves.share(&Strategy::host_activation_blocks, 0);
  if (from.optimizer == Tier::kSsd) moves.share(&Strategy::host_state_blocks, 0, limits.host_state_room);
  if (from.optimizer != Tier::kDevice) moves.share(&Strategy::device_state_blocks, 0, limits.device_state_room);
  const bool visits = limits.visits || from.device_update_blocks > 0;
  if (from.optimizer != Tier::kDevice && visits) moves.share(&Strategy::device_update_blocks, 0);
  if (from.parameters != Tier::kDevice) moves.share(&Strategy::device_parameter_blocks, 0, limits.device_parameter_room);
  return std::move(moves.found);
}

std::vector<Strategy> jumps_from(const Strategy& from, const MoveLimits& limits) {
  Moves jumps(from, limits);
  if (from.recompute_every == 0) return {};
  const std::int64_t states = from.device_state_blocks;
  for (const std::int64_t kept : {2, 4}) {
    for (const Tier tier : {Tier::kHost, Tier::kSsd}) offload_instead(jumps, tier, kept, limits.layers, states);
  }
  for (const std::int64_t kept : {2, 3, 4}) {
    for (const std::int64_t left : {states, 3 * states / 4}) offload_instead(jumps, Tier::kHost, kept, limits.layers / 2, left);
  }
  return std::move(jumps.found);
}

}  // namespace plimsoll
