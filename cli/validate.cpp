#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/load_plan.h"
#include "core/plan/verify_plan.h"

namespace plimsoll {
namespace {

Result<ExitCode> validate_file(const std::string& path) {
  const auto plan = read_plan_file(path);
  if (!plan) return fail(plan.error());
  const auto verified = verify_plan(*plan);
  if (!verified) return fail(verified.error());
  fmt::print("{}: obeys the law of plans ({} instructions, {} uses checked over {} steps laid one after another)\n",
             path, verified->instructions, verified->checked_uses, verified->expanded_bodies);
  return ExitCode::kDone;
}

}  // namespace

void add_validate(CLI::App& app, ExitCode& code) {
  auto path = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("validate", "Prove that a plan file obeys the law of plans");
  command->footer("Example: plimsoll validate plan.json");
  command->add_option("PLAN", *path, "a plan file")->required();
  command->callback([path, &code] {
    const auto ended = validate_file(*path);
    code = ended ? *ended : report_error(ended.error());
  });
}

}  // namespace plimsoll
