#include "core/plan/strategy.h"

#include <fmt/format.h>

namespace plimsoll {

std::string_view to_text(Tier tier) {
  switch (tier) {
    case Tier::kDevice:
      return "device";
    case Tier::kHost:
      return "host";
    case Tier::kSsd:
      return "ssd";
  }
  return "?";
}

std::optional<Tier> parse_tier(std::string_view text) {
  for (const Tier tier : {Tier::kDevice, Tier::kHost, Tier::kSsd}) {
    if (to_text(tier) == text) return tier;
  }
  return std::nullopt;
}

std::string_view to_text(LoopOrder order) {
  switch (order) {
    case LoopOrder::kDepthFirst:
      return "depth-first";
    case LoopOrder::kBreadthFirst:
      return "breadth-first";
  }
  return "?";
}

namespace {

std::string blocks(std::int64_t count) { return count == 1 ? "1 block" : fmt::format("{} blocks", count); }

}  // namespace

std::string describe(const Strategy& s) {
  std::string text;
  if (s.optimizer == Tier::kDevice) {
    text = "optimizer on the device";
  } else {
    text = fmt::format("optimizer on the CPU with its states in {}",
                       s.optimizer == Tier::kHost ? "host memory" : "SSD files");
  }
  if (s.host_state_blocks > 0) text += fmt::format(" (those of {} in host memory)", blocks(s.host_state_blocks));
  if (s.device_state_blocks > 0) text += fmt::format(", {} updated by the device", blocks(s.device_state_blocks));
  if (s.device_update_blocks > 0) text += fmt::format(", states of {} on the device for their update", blocks(s.device_update_blocks));
  if (s.parameters != Tier::kDevice) text += fmt::format(", weights streamed from {}", s.parameters == Tier::kHost ? "host memory" : "the SSD");
  if (s.device_parameter_blocks > 0) text += fmt::format(" but of {}", blocks(s.device_parameter_blocks));
  if (s.update_in_backward) text += ", updating during backward";
  if (s.gradients != Tier::kDevice) text += ", gradients leave during backward";
  if (s.gradients == Tier::kSsd) text += " for the SSD";
  if (s.recompute_every == 0) text += ", all activations kept";
  if (s.recompute_every == 1) text += ", every block recomputed";
  if (s.recompute_every > 1) text += fmt::format(", recompute in segments of {} blocks", s.recompute_every);
  if (s.kept_outputs > 0) text += fmt::format(" but for the outputs of {} kernel{}", s.kept_outputs, s.kept_outputs == 1 ? "" : "s");
  if (s.activations != Tier::kDevice) {
    text += fmt::format(", what {} {} waits {}", blocks(s.activation_blocks), s.activation_blocks == 1 ? "keeps" : "keep",
                        s.activations == Tier::kHost ? "in host memory" : "on the SSD");
    if (s.host_activation_blocks > 0) text += fmt::format(" ({} of them in host memory)", s.host_activation_blocks);
  }
  if (s.loop_order == LoopOrder::kBreadthFirst) text += ", all micro-batches block by block";
  if (s.staging_slots != Strategy{}.staging_slots) text += s.staging_slots == 1 ? ", 1 transfer buffer" : fmt::format(", {} transfer buffers", s.staging_slots);
  if (!s.overlap) text += ", nothing overlapped";
  return text;
}

}  // namespace plimsoll
