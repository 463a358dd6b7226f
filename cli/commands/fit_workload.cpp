#include "cli/commands/fit_workload.h"

#include <fmt/format.h>

#include "core/base/nearest_names.h"

namespace plimsoll {

Result<Answered> fit_workload(const WorkloadRequest& request) {
  const std::string& name = request.workload.workload;
  if (name == "inference") return fit_inference(request);
  if (name == "dpo" || name == "ppo") return fit_alignment(request);
  if (name == "diffusion" || name == "evoformer") return fit_net(request);
  if (name == "kto" || name == "grpo") {
    return fail({.kind = ErrorKind::kInput, .what = fmt::format("{} is told of trainings by TRL, not of plans of plimsoll's", name), .where = "--workload",
                 .remedy = "add --stack pytorch or deepspeed"});
  }
  const auto near = near_names(name, {"inference", "dpo", "kto", "grpo", "ppo", "diffusion", "evoformer"});
  return fail({.kind = ErrorKind::kUnknownName,
               .what = fmt::format("no workload is called '{}'", name),
               .where = "--workload",
               .remedy = near.empty() ? "leave it out to train on texts, or choose inference, dpo, kto, grpo, ppo, diffusion or evoformer"
                                      : did_you_mean(name, near)});
}

}  // namespace plimsoll
