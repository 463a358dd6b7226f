#include "cli/options/offload_items.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

namespace plimsoll {
namespace {

tl::unexpected<Error> bad_offload(std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = "--offload", .remedy = std::move(remedy)});
}

/// What a stack's own offloading knows: FSDP's of shards, DeepSpeed's of states (and of ZeRO-3's parameters), Gemini's chunks in
/// host memory, and checkpoints of whoever recomputes.
Result<void> check_offload(const StackSetup& setup) {
  const bool parameters = setup.parameters != Home::kDevice, optimizer = setup.optimizer != Home::kDevice;
  if (setup.activations == Home::kDrive)
    return bad_offload("no stack that is modelled keeps activations on a drive", "take activations:cpu");
  if (setup.activations != Home::kDevice && setup.recomputation == Recomputation::kNone) {
    return bad_offload("activations wait as checkpoints", "add --recompute full");
  }
  if (!parameters && !optimizer) return {};
  switch (setup.stack) {
    case Stack::kDeepspeed:
      if (setup.zero == 0) return bad_offload("deepspeed offloads what ZeRO shares out", "add --zero 2, or 3 for parameters");
      if (parameters && setup.zero != 3) return bad_offload("deepspeed offloads parameters with ZeRO-3 alone", "add --zero 3");
      return {};
    case Stack::kColossalai:
      if (setup.parameters == Home::kDrive || setup.optimizer == Home::kDrive) {
        return bad_offload("Gemini's chunks wait in host memory", "take params:cpu or optimizer:cpu");
      }
      return {};
    case Stack::kPytorch:
      if (is_fsdp(setup) && setup.parameters == Home::kHost) return {};
      return bad_offload("pytorch offloads FSDP's shards, with what belongs to them, to host memory",
                         "add --dp N --zero 3, and take params:cpu");
    default: return bad_offload(fmt::format("no offloading of {} is modelled", to_text(setup.stack)), "leave it out");
  }
}

}  // namespace

Result<void> read_offload(const std::vector<std::string>& items, StackSetup& setup) {
  for (const std::string& item : items) {
    const auto colon = item.find(':');
    const std::string kind = item.substr(0, colon), place = colon == std::string::npos ? "" : item.substr(colon + 1);
    Home* home = kind == "params"        ? &setup.parameters
                 : kind == "optimizer"   ? &setup.optimizer
                 : kind == "grads"       ? &setup.gradients
                 : kind == "activations" ? &setup.activations
                                         : nullptr;
    if (home == nullptr || (place != "cpu" && place != "ssd")) {
      return bad_offload(fmt::format("'{}' is not of the form KIND:PLACE", item),
                         "kinds: params, grads, optimizer, activations; places: cpu, ssd");
    }
    *home = place == "cpu" ? Home::kHost : Home::kDrive;
  }
  if (setup.gradients != Home::kDevice && setup.gradients != setup.optimizer) {
    return bad_offload("gradients go where the optimizer updates with them",
                       "offload the optimizer to the same place, or leave grads out");
  }
  return check_offload(setup);
}

Result<void> read_placement(const std::string& placement, StackSetup& setup) {
  setup.automatic_placement = placement == "auto";
  if (!setup.automatic_placement) return {};
  if (setup.stack != Stack::kColossalai)
    return bad_offload("--placement auto is Gemini's", "add --stack colossalai, or leave it out");
  if (setup.parameters == Home::kDevice && setup.optimizer == Home::kDevice) return {};
  return bad_offload("--placement auto decides itself what waits in host memory", "leave --offload out");
}

}  // namespace plimsoll
