#include "cli/fit_workload.h"

#include <fmt/format.h>

namespace plimsoll {

Result<ExitCode> fit_workload(const WorkloadRequest& request) {
  const std::string& name = request.workload.workload;
  if (name == "inference") return fit_inference(request);
  return fail({.kind = ErrorKind::kUnknownName,
               .what = fmt::format("no workload is called '{}'", name),
               .where = "--workload",
               .remedy = "choose inference"});
}

}  // namespace plimsoll
