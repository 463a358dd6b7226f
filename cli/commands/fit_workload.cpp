#include "cli/commands/fit_workload.h"

#include <fmt/format.h>

namespace plimsoll {

Result<Answered> fit_workload(const WorkloadRequest& request) {
  const std::string& name = request.workload.workload;
  if (name == "inference") return fit_inference(request);
  if (name == "dpo" || name == "ppo") return fit_alignment(request);
  if (name == "diffusion" || name == "evoformer") return fit_net(request);
  if (name == "kto") {
    return fail({.kind = ErrorKind::kInput, .what = "KTO is told of trainings by TRL, not of plans of plimsoll's", .where = "--workload",
                 .remedy = "add --stack pytorch or deepspeed"});
  }
  return fail({.kind = ErrorKind::kUnknownName,
               .what = fmt::format("no workload is called '{}'", name),
               .where = "--workload",
               .remedy = "choose inference, dpo, kto, ppo, diffusion or evoformer"});
}

}  // namespace plimsoll
