#include "cli/commands/fit_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cli/options/partner_options.h"
#include "cli/print/print_fit.h"
#include "cli/print/print_settings.h"
#include "cli/print/print_training.h"
#include "cli/print/waiting_line.h"
#include "sim/answers/room_to_fit.h"
#include "sim/stack/stack_setup.h"

namespace plimsoll {
namespace {

tl::unexpected<Error> refuse(std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = "--best-settings", .remedy = std::move(remedy)});
}

/// What of the settings is said stays.
OpenSettings open_settings(const CLI::App& command, const FitFlags& flags, const Question& question) {
  const StackFlags& stack = flags.stack;
  const StackSetup& setup = *question.stack;
  OpenSettings open{.gpus = std::max<std::int64_t>(gpus_of(setup), flags.machine.gpus), .global_batch = *flags.training.global_batch,
                    .said = said_degrees(command, stack, flags.training), .homes = !is_given(stack, "--offload") && !is_given(stack, "--placement")};
  if (is_given(stack, "--recompute")) open.said.recomputation = setup.recomputation;
  return open;
}

Result<void> check_goes(const CLI::App& command, const FitFlags& flags) {
  if (!flags.stack.other()) {
    return refuse("it chooses the settings of a program that is named", "add --stack pytorch, deepspeed, megatron or another; plimsoll's own plan is searched without it");
  }
  if (flags.strategy != "auto") return refuse("--strategy says settings that it would choose", "leave one of them out");
  if (command.count("--accumulate") > 0) return refuse("how many micro-batches a step accumulates is chosen", "say --global-batch in place of --accumulate");
  if (flags.training.global_batch.value_or(0) < 1) {
    return refuse("all settings have as many sequences a step, which nobody said", "add --global-batch 256, or as many as all GPUs shall read in a step");
  }
  return {};
}

/// Data ranks, and what they have of a step, where degrees are not chosen.
Result<void> check_divides(const OpenSettings& open, const Question& question) {
  const std::int64_t data = question.stack->data_ranks, batch = open.global_batch, micro = open.said.micro_batch.value_or(1);
  if (chooses_layouts(question) || batch % (data * micro) == 0) return {};
  if (batch % data == 0) {
    return fail({.kind = ErrorKind::kInput, .what = fmt::format("--global-batch {} is not a multiple of --batch {} x {} data ranks", batch, micro, data),
                 .where = {}, .remedy = "leave --batch out, which is then chosen"});
  }
  return fail({.kind = ErrorKind::kInput, .what = fmt::format("--global-batch {} does not divide by {} data ranks", batch, data), .where = "--global-batch",
               .remedy = fmt::format("take a multiple of {}", data)});
}

std::vector<std::string> notes_of(const AskedQuestion& asked, const SettingsAnswer& found) {
  const FitAnswer& best = found.best;
  std::vector<std::string> notes = asked.notes;
  const ModelSpec& spec = asked.question.spec;
  std::replace(notes.begin(), notes.end(), step_text(spec, asked.question.recipe), step_text(spec, found.question.recipe));
  notes.insert(notes.end(), best.assumed.begin(), best.assumed.end());
  if (best.training) notes.insert(notes.end(), best.training->assumed.begin(), best.training->assumed.end());
  return notes;
}

/// The question before anything is chosen. Where degrees are, those that are said need not have all GPUs.
Result<AskedQuestion> read_open(const FitFlags& flags) {
  FitFlags open = flags;
  open.training.global_batch = std::nullopt;  // of all GPUs, however they share it
  const bool chosen = open.stack.stack == "megatron";
  if (chosen) open.machine.gpus = 1;
  auto asked = read_question(open);
  if (asked && chosen) std::erase_if(asked->notes, [](const std::string& note) { return note.starts_with("--network is between nodes"); });
  return asked;
}

std::string boards_text(const FitAnswer& best, const AskedQuestion& asked) {
  const std::string& board = asked.question.machine->gpu.name;
  return best.gpus > 1 ? fmt::format("{} x {}", best.gpus, board) : board;
}

}  // namespace

Result<Answered> fit_settings(const CLI::App& command, const FitFlags& flags, const AnswerForm& form) {
  if (const auto goes = check_goes(command, flags); !goes) return fail(goes.error());
  const auto asked = read_open(flags);
  if (!asked) return fail(asked.error());
  const OpenSettings open = open_settings(command, flags, asked->question);
  if (const auto divides = check_divides(open, asked->question); !divides) return fail(divides.error());
  std::optional<WaitingLine> waiting("trying settings");
  auto found = best_settings(asked->question, open, [&](double share) { waiting->tell(share); });
  if (!found) return fail(found.error());
  if (!found->best.fits) {  // and what would
    if (auto more = answer_question(found->question, {.room_budget = kRoomBudget})) found->best = std::move(*more);
  }
  waiting.reset();
  if (const auto billed = add_bill(flags.length, found->question, found->best); !billed) return fail(billed.error());
  found->best.assumed = notes_of(*asked, *found);
  const FitAnswer& best = found->best;
  std::string text = form.json ? settings_json(*found) : form.csv ? settings_csv(*found) : std::string();
  if (text.empty()) {
    text = fit_text(best, found->question.recipe, boards_text(best, *asked), is_of_images(found->question.spec)) + settings_text(*found);
    if (best.training) text += training_text(*best.training);
    text += notes_text(best.assumed);
  }
  return Answered{.code = best.fits ? ExitCode::kDone : ExitCode::kMissed, .text = std::move(text), .said = {}};
}

}  // namespace plimsoll
