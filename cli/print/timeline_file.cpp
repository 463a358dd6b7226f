#include "cli/print/timeline_file.h"

#include <fmt/chrono.h>

#include <ctime>

#include "cli/commands.h"
#include "cli/print/output_file.h"
#include "formats/plans/plan_json.h"
#include "formats/runs/run_file_writer.h"
#include "session/open_run_file.h"

namespace plimsoll {

Result<void> check_timeline_output(const std::string& path) { return path.empty() ? Result<void>{} : check_replaceable(path, FileKind::kRunFile); }

void write_timeline(const std::string& path, const std::string& command, const Plan& plan, const Trace& trace,
                    const std::vector<MemorySample>& memory) {
  remove_run_file(path);
  RunFileWriter file(path, {.kind = "plan",
                            .created = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))),
                            .tool_version = version(),
                            .command = command,
                            .machine = plan.platform.name});
  file.add_plan("run", plan);
  NamedTrace predicted{.name = "predicted", .body = "step", .trace = trace};
  predicted.trace.plan_digest = plan_digest(plan);  // a simulation does not know it
  file.add_trace(predicted);
  file.add_memory(memory);
  file.close();
  fmt::print(stderr, "plimsoll: wrote {}; plimsoll export {} --chrome FILE makes a timeline of it\n", path, path);
}

}  // namespace plimsoll
