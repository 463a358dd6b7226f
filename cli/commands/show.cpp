#include <fmt/format.h>

#include <fstream>
#include <memory>

#include "cli/commands.h"
#include "cli/commands/write_recording.h"
#include "cli/inputs/load_plan.h"
#include "cli/print/run_printer.h"
#include "cli/print/show_json.h"
#include "cli/program/answer_error.h"
#include "core/plan/expand.h"
#include "formats/plans/instruction_text.h"
#include "formats/runs/run_file.h"
#include "formats/traces/read_nsight.h"
#include "sim/stack/lowering/allocation_events.h"

namespace plimsoll {
namespace {

struct ShowFlags {
  std::string file;
  bool instructions = false;
  bool json = false;
};

void print_instructions(const Plan& plan) {
  const FlatBody body = expand(plan, *plan.body("step"));
  for (std::size_t i = 0; i < body.size(); ++i) {
    const Instruction& instruction = body.list.instructions[i];
    fmt::print("{:>6}  {:<10}{:<12}{:<24}", i, plan.platform.at(instruction.queue).name, to_text(instruction.phase),
               instruction_name(plan, body, instruction));
    if (instruction.kind == InstructionKind::kMarker && instruction.use_count > 0) {
      const Buffer& buffer = plan.buffers[body.uses(instruction).back().target];
      fmt::print(" {}, {} at {}", buffer.name, to_text(buffer.bytes), buffer.offset.count);
    }
    for (const Dependency& dependency : body.dependencies(instruction)) {
      fmt::print(" after {}{}", dependency.target,
                 dependency.distance == 0 ? "" : fmt::format(" ({} steps before)", dependency.distance));
    }
    fmt::print("\n");
  }
}

/// In words. A migration has no strategy.
std::string purpose(const Plan& plan) {
  const Body* migrate = plan.body(kMigrateBody);
  if (allocates_while_running(plan)) return "as that program allocates and launches; simulated, not executed";
  if (migrate == nullptr) return describe(plan.strategy);
  return fmt::format("moves the state to another layout in {} transfers", instruction_count(plan, *migrate));
}

void print_plan(const Plan& plan) {
  fmt::print("plan for {} on {}\n  strategy {}: {}\n", plan.spec.name, plan.platform.name, plan.strategy.name,
             purpose(plan));
  for (const Body& body : plan.bodies) {
    fmt::print("  {}: {} instructions in {} calls of {} templates\n", body.name, instruction_count(plan, body),
               body.calls.size(), plan.blocks.size());
  }
  for (const Arena& arena : plan.arenas)
    fmt::print("  {}: {}\n", plan.platform.at(arena.space).name, to_text(arena.bytes));
}

void print_run(const RunFile& run) {
  fmt::print(
      "{} of {} by plimsoll {} on {}{}\n", run.meta.kind, run.meta.created, run.meta.tool_version, run.meta.machine,
      run.finished ? "" : " (not closed: it is running still, or was killed; what follows is what was committed)");
  if (!run.meta.command.empty()) fmt::print("command: {}\n", run.meta.command);
  for (const NamedPlan& plan : run.plans) {
    fmt::print("plan '{}' {}: {}\n", plan.name, plan.digest, purpose(plan.plan));
  }
  for (const NamedTrace& trace : run.traces) {
    fmt::print("trace '{}': {} steps, {} events, {}\n", trace.name, trace.trace.steps.size(), trace.trace.events.size(),
               trace.trace.source);
  }
  fmt::print("{}", loss_text(run.steps()));
  for (const Evaluation& evaluation : run.evaluations)
    fmt::print("held-out loss after {} steps: {:.4f}\n", evaluation.step, evaluation.loss);
  for (const CheckpointRecord& checkpoint : run.checkpoints)
    fmt::print("checkpoint after {} steps: {}\n", checkpoint.step, checkpoint.path);
  for (const LogLine& line : run.log) fmt::print("{}: {}\n", line.level, line.text);
}

/// What a profiler saw, where the file holds it.
Result<void> print_activity(const std::string& file) {
  const auto holds = holds_activity(file);
  if (!holds) return fail(holds.error());
  if (!*holds) return {};
  const auto recording = read_nsight(file);
  if (!recording) return fail(recording.error());
  fmt::print("{}", recording_text(*recording));
  return {};
}

/// Plans may have any name; a file named as one that is none is refused as a plan.
bool is_plan(const std::string& file) {
  if (file.size() > 5 && file.ends_with(".json")) return true;
  std::ifstream begins(file, std::ios::binary);
  return begins.peek() == '{';
}

Result<ExitCode> show(const ShowFlags& flags) {
  if (is_plan(flags.file)) {
    const auto plan = read_plan_file(flags.file);
    if (!plan) return fail(plan.error());
    if (flags.json) {
      fmt::print("{}", show_json(*plan));
      return ExitCode::kDone;
    }
    print_plan(*plan);
    if (flags.instructions && plan->body("step") != nullptr) print_instructions(*plan);
    return ExitCode::kDone;
  }
  const auto run = read_run_file(flags.file);
  if (!run) return fail(run.error());
  if (flags.json) {
    fmt::print("{}", show_json(*run));
  } else {
    print_run(*run);
    if (const auto shown = print_activity(flags.file); !shown) return fail(shown.error());
  }
  return ExitCode::kDone;
}

}  // namespace

void add_show(CLI::App& app, ExitCode& code) {
  auto flags = std::make_shared<ShowFlags>();
  CLI::App* command = app.add_subcommand("show", "What is in a plan file or a run file");
  command->footer("Example: plimsoll show plan.json --instructions");
  command->add_option("FILE", flags->file, "a plan (.json) or a run file")->required();
  command->add_flag("--instructions", flags->instructions, "list the step's instructions of a plan");
  command->add_flag("--json", flags->json, "machine-readable answer");
  command->callback([flags, command, &code] {
    const auto ended = show(*flags);
    code = ended ? *ended : report_error(*command, ended.error());
  });
}

}  // namespace plimsoll
