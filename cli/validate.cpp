#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/load_plan.h"
#include "core/plan/verify_plan.h"

namespace plimsoll {
namespace {

struct ValidateFlags {
  std::string plan;
  bool json = false;
};

Result<ExitCode> validate_file(const ValidateFlags& flags) {
  const auto plan = read_plan_file(flags.plan);
  if (!plan) return fail(plan.error());
  const auto verified = verify_plan(*plan);
  if (!verified) return fail(verified.error());
  if (flags.json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"valid", true},
                                              {"instructions", verified->instructions},
                                              {"checked_uses", verified->checked_uses},
                                              {"expanded_bodies", verified->expanded_bodies}}
                           .dump());
    return ExitCode::kDone;
  }
  fmt::print("{}: obeys the law of plans ({} instructions, {} uses checked over {} steps laid one after another)\n",
             flags.plan, verified->instructions, verified->checked_uses, verified->expanded_bodies);
  return ExitCode::kDone;
}

}  // namespace

void add_validate(CLI::App& app, ExitCode& code) {
  auto flags = std::make_shared<ValidateFlags>();
  CLI::App* command = app.add_subcommand("validate", "Prove that a plan file obeys the law of plans");
  command->footer("Example: plimsoll validate plan.json");
  command->add_option("PLAN", flags->plan, "a plan file")->required();
  command->add_flag("--json", flags->json, "machine-readable answer");
  command->callback([flags, &code] {
    const auto ended = validate_file(*flags);
    code = ended ? *ended : report_error(ended.error());
  });
}

}  // namespace plimsoll
