#include "sim/alignment/ppo.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/graph/buildable.h"
#include "sim/alignment/frozen_model.h"
#include "sim/alignment/planned_training.h"
#include "sim/inference/search_policy.h"

namespace plimsoll {
namespace {

Bytes usable(const Platform& platform, SpaceKind kind) {
  const auto space = platform.space(kind);
  return space ? platform.at(*space).usable : Bytes(0);
}

/// One way of keeping the frozen models.
class PpoStep {
 public:
  PpoStep(const PpoTask& task, bool on_device, const Platform& platform, const CostModel& costs)
      : task_(task), on_device_(on_device), platform_(platform), costs_(costs) {
    const Precision precision = task.recipe.precision;
    reference_ = task.recipe.adapter.exists() ? Bytes(0) : frozen_bytes(task.actor, precision);
    reward_ = frozen_bytes(task.reward, precision);
    (on_device ? device_ : host_) = reference_ + reward_;
  }

  Result<AlignmentAnswer> answer() {
    answer_.device_usable = usable(platform_, SpaceKind::kDevice);
    answer_.host_usable = usable(platform_, SpaceKind::kHost);
    if (const auto planned = plan_both(); !planned) return fail(planned.error());
    name_models();
    if (const auto done = generate(); !done) return fail(done.error());
    if (const auto done = score(); !done) return fail(done.error());
    train("train actor", actor_, critic_);
    train("train critic", critic_, actor_);
    answer_.fits = actor_.fits && critic_.fits && generates_ && answer_.device_peak() <= answer_.device_usable &&
                   answer_.host_peak() <= answer_.host_usable;
    if (!answer_.fits) {
      answer_.shortfall = fmt::format("needs {} of {} on the device and {} of {} in host memory", to_text(answer_.device_peak()),
                                      to_text(answer_.device_usable), to_text(answer_.host_peak()), to_text(answer_.host_usable));
    }
    return answer_;
  }

 private:
  [[nodiscard]] std::int64_t sequences() const { return task_.recipe.micro_batch * task_.recipe.accumulate; }
  [[nodiscard]] std::int64_t length() const { return task_.prompt + task_.new_tokens; }
  [[nodiscard]] Bytes resting_device() const { return device_ + actor_.device_resting + critic_.device_resting; }
  [[nodiscard]] Bytes resting_host() const { return host_ + actor_.host_resting + critic_.host_resting; }

  Result<void> plan_both() {
    const Platform left = less_memory(platform_, device_, host_);
    Recipe recipe = task_.recipe;
    recipe.sequence = length();
    auto both = plan_together(task_.actor, task_.critic, recipe, left, costs_);
    if (!both) return fail(both.error());
    actor_ = std::move(both->first);
    critic_ = std::move(both->second);
    return {};
  }

  void name_models() {
    const std::string place = on_device_ ? "device" : "host memory";
    const auto frozen = [&](const char* role, Bytes bytes) {
      return ResidentModel{role, bytes == Bytes(0) ? "the actor's base" : place, on_device_ ? bytes : Bytes(0),
                           on_device_ ? Bytes(0) : bytes, false};
    };
    answer_.models = {{"actor", actor_.strategy, actor_.device_resting, actor_.host_resting, true},
                      {"critic", critic_.strategy, critic_.device_resting, critic_.host_resting, true},
                      frozen("reference", reference_),
                      frozen("reward model", reward_)};
  }

  /// With the actor's weights where they rest, or a copy that streams; the other models leave what they do not hold.
  Result<void> generate() {
    const InferenceTask writes{.spec = task_.actor,
                               .prompt = task_.prompt,
                               .new_tokens = task_.new_tokens,
                               .sequences = sequences(),
                               .precision = task_.recipe.precision};
    const Bytes own = std::min(actor_.device_weights, frozen_bytes(task_.actor, task_.recipe.precision));
    const Bytes taken = resting_device() - own;
    const PolicyWishes wishes{.exact = {}, .gpu_batch = {}, .cpu_attention = false, .fixed = {}};
    const auto weighed = search_policies(writes, wishes, less_memory(platform_, taken, resting_host()), costs_);
    if (!weighed) return fail(weighed.error());
    const WeighedPolicy& best = weighed->front();
    generates_ = best.fits;
    const auto time = predict_inference(writes, best.policy, platform_, costs_);
    if (!time) return fail(time.error());
    answer_.phases.push_back({"generate", time->seconds(), taken + best.memory.at(SpaceKind::kDevice).total(),
                              resting_host() + best.memory.at(SpaceKind::kHost).total()});
    return {};
  }

  Result<void> score_with(const char* name, const ModelSpec& spec, bool on_device) {
    const auto pass =
        frozen_pass(spec, task_.recipe.precision, sequences(), task_.recipe.micro_batch, length(), on_device, platform_, costs_);
    if (!pass) return fail(pass.error());
    answer_.phases.push_back({name, pass->seconds, resting_device() + pass->device, resting_host()});
    return {};
  }

  Result<void> score() {
    const bool own_base = task_.recipe.adapter.exists();
    const bool actor_there = actor_.device_weights > Bytes(0);
    const bool critic_there = critic_.device_weights > Bytes(0);
    if (const auto done = score_with("score: reference", task_.actor, own_base ? actor_there : on_device_); !done) return done;
    if (const auto done = score_with("score: reward model", task_.reward, on_device_); !done) return done;
    if (const auto done = score_with("score: actor", task_.actor, actor_there); !done) return done;
    return score_with("score: critic", task_.critic, critic_there);
  }

  void train(const char* name, const PlannedTraining& model, const PlannedTraining& other) {
    answer_.phases.push_back({name, static_cast<double>(task_.epochs) * model.step_seconds,
                              device_ + other.device_resting + model.device_peak, host_ + other.host_resting + model.host_peak});
  }

  const PpoTask& task_;
  bool on_device_;
  const Platform& platform_;
  const CostModel& costs_;
  Bytes reference_, reward_, device_, host_;
  PlannedTraining actor_, critic_;
  bool generates_ = false;
  AlignmentAnswer answer_;
};

}  // namespace

Result<AlignmentAnswer> answer_ppo(const PpoTask& task, const Platform& platform, const CostModel& costs) {
  for (const ModelSpec* trained : {&task.actor, &task.critic}) {
    if (const auto buildable = check_buildable(*trained, task.recipe); !buildable) return fail(buildable.error());
  }
  std::optional<AlignmentAnswer> best;
  for (const bool on_device : {true, false}) {
    auto answer = PpoStep(task, on_device, platform, costs).answer();
    if (!answer) return answer;
    const bool better = !best || (answer->fits && (!best->fits || answer->seconds() < best->seconds()));
    if (better) best = std::move(*answer);
  }
  return *best;
}

}  // namespace plimsoll
