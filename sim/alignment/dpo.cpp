#include "sim/alignment/dpo.h"

#include <fmt/format.h>

#include <optional>

#include "core/graph/buildable.h"
#include "sim/alignment/frozen_model.h"
#include "sim/alignment/planned_training.h"

namespace plimsoll {
namespace {

Bytes usable(const Platform& platform, SpaceKind kind) {
  const auto space = platform.space(kind);
  return space ? platform.at(*space).usable : Bytes(0);
}

/// With the reference's weights there.
Result<AlignmentAnswer> answer_with(const ModelSpec& spec, const Recipe& pairs, bool on_device, const Platform& platform,
                                    const CostModel& costs) {
  Recipe both = pairs;  // a sequence of each answer
  both.micro_batch = 2 * pairs.micro_batch;
  const bool shares = pairs.adapter.exists();
  const Bytes weights = shares ? Bytes(0) : frozen_bytes(spec, pairs.precision);
  const Bytes device = on_device ? weights : Bytes(0), host = on_device ? Bytes(0) : weights;
  const auto reference = frozen_pass(spec, pairs.precision, both.micro_batch * both.accumulate, both.micro_batch, both.sequence,
                                     on_device || shares, platform, costs);
  if (!reference) return fail(reference.error());
  const auto policy = plan_training(spec, both, less_memory(platform, device, host), costs);
  if (!policy) return fail(policy.error());
  AlignmentAnswer answer{.device_usable = usable(platform, SpaceKind::kDevice),
                         .host_usable = usable(platform, SpaceKind::kHost)};
  answer.models = {{"policy", policy->strategy, policy->device_resting, policy->host_resting, true},
                   {"reference",
                    shares      ? "the policy's base"
                    : on_device ? "device"
                                : "host memory",
                    device, host, false}};
  answer.phases = {
      {"reference", reference->seconds, device + policy->device_resting + reference->device, host + policy->host_resting},
      {"policy", policy->step_seconds, device + policy->device_peak, host + policy->host_peak}};
  answer.fits = policy->fits && answer.device_peak() <= answer.device_usable && answer.host_peak() <= answer.host_usable;
  if (!answer.fits) {
    answer.shortfall = fmt::format("needs {} of {} on the device and {} of {} in host memory", to_text(answer.device_peak()),
                                   to_text(answer.device_usable), to_text(answer.host_peak()), to_text(answer.host_usable));
  }
  return answer;
}

}  // namespace

Result<AlignmentAnswer> answer_dpo(const ModelSpec& spec, const Recipe& recipe, const Platform& platform,
                                   const CostModel& costs) {
  if (const auto buildable = check_buildable(spec, recipe); !buildable) return fail(buildable.error());
  std::optional<AlignmentAnswer> best;
  for (const bool on_device : {true, false}) {
    auto answer = answer_with(spec, recipe, on_device, platform, costs);
    if (!answer) return answer;
    const bool better = !best || (answer->fits && (!best->fits || answer->seconds() < best->seconds()));
    if (better) best = std::move(*answer);
    if (recipe.adapter.exists()) break;
  }
  return *best;
}

}  // namespace plimsoll
