#include "cli/commands/fit_parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "cli/print/print_layouts.h"
#include "cli/print/print_parallel.h"
#include "cli/print/print_training.h"
#include "cli/print/waiting_line.h"
#include "sim/answers/layout_bill.h"
#include "sim/parallel/search_layouts.h"

namespace plimsoll {
namespace {

constexpr std::string_view kOfLayouts[] = {
    "--attention", "--recompute", "--dropout",          "--zero", "--dp", "--tp", "--pp", "--chunks",
    "--cp",        "--ep",        "--offload",   "--sequence-parallel", "--nodes", "--network", "--peers", "--reduce-in",
    "--no-overlap-comm"};

tl::unexpected<Error> refuse(std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = std::move(remedy)});
}

/// Options that say how another program trains, but for those that layouts have too.
Result<void> check_software(const StackFlags& flags) {
  for (const CLI::Option* option : flags.options) {
    const std::string name = option->get_name();
    const bool shared = std::find(std::begin(kOfLayouts), std::end(kOfLayouts), name) != std::end(kOfLayouts);
    if (option->count() == 0 || shared) continue;
    return refuse(fmt::format("{} would be ignored by the layouts of several GPUs", name),
                  "leave it out, or add a --stack");
  }
  return {};
}

/// Options of answers that know one GPU only.
Result<void> check_goes(const FitFlags& flags) {
  if (flags.strategy != "auto") return refuse("strategies are plans for one GPU", "leave --strategy or --gpus out");
  if (!flags.calibration.empty()) return refuse("layouts are timed by the catalogue", "leave --calibration out");
  if (!flags.stack.offload.empty())
    return refuse("layouts of many GPUs keep everything on them", "leave --offload or --gpus out");
  return check_software(flags.stack);
}

/// The whole training by the layout that was found, where somebody said how long it is.
Result<std::optional<TrainingAnswer>> whole_training(const FitFlags& flags, const ParallelQuestion& question, const ParallelAnswer& best) {
  const auto terms = read_bill_terms(flags.length);
  if (!terms) return fail(terms.error());
  if (!flags.length.request.is_given()) return std::nullopt;
  const auto length = training_length(flags.length.request, question.spec, {.each = reads_pictures(question.spec) ? 0 : static_cast<double>(question.recipe.sequence)});
  if (!length) return fail(length.error());
  const auto host = read_machine_options(flags.machine);
  if (!host) return fail(host.error());
  auto bill = bill_layout(question, best, *host, *length, *terms);
  if (!bill) return fail(bill.error());
  return std::move(*bill);
}

/// The fewest GPUs, in doublings, with which a layout fits where none does.
std::string enough_gpus(const FitFlags& flags, const ParallelFlags& parallel, const LayoutRequest& request) {
  constexpr std::int64_t kMost = 8;
  for (std::int64_t more = 2; more <= kMost; more *= 2) {
    MachineFlags machine = flags.machine;
    machine.gpus *= static_cast<int>(more);
    const auto asked = read_parallel(flags.model, parallel, flags.stack, machine, flags.training);
    if (!asked) return {};
    const auto found = search_layouts(asked->question, request);
    if (!found || found->front.empty()) continue;
    const ParallelAnswer& best = found->front.front();
    return fmt::format("  to fit  {} GPUs ({}, {} for {} sequences)\n", machine.gpus, describe(best.layout), to_text(from_seconds(best.step_seconds)),
                       best.layout.global_batch);
  }
  return {};
}

std::string front_text(const LayoutSearch& search, std::size_t limit) {
  if (search.front.empty()) return fmt::format("  search  {} layouts tried, none fits; the one above needs least\n", search.tried);
  std::string text =
      fmt::format("  search  {} layouts tried, {} fit; fastest first, each needing less than those before:\n",
                  search.tried, search.fitting);
  for (std::size_t i = 0; i < std::min(limit, search.front.size()); ++i) {
    const ParallelAnswer& one = search.front[i];
    text += fmt::format("  {:>10}{:>12}  {}\n", to_text(from_seconds(one.step_seconds)), to_text(one.peak()),
                        describe(one.layout));
  }
  return text;
}

std::string front_csv(const LayoutSearch& search) {
  std::string text = layouts_csv_header();
  for (const ParallelAnswer& one : search.front.empty() ? search.smallest : search.front) text += layout_csv_line(one);
  return text;
}

}  // namespace

Result<Answered> fit_parallel(const CLI::App& command, const FitFlags& flags, const ParallelFlags& parallel,
                              const AnswerForm& form, std::size_t limit) {
  if (const auto goes = check_goes(flags); !goes) return fail(goes.error());
  auto asked = read_parallel(flags.model, parallel, flags.stack, flags.machine, flags.training);
  if (!asked) return fail(asked.error());
  const auto request = read_layout(command, parallel, flags.stack, flags.training);
  if (!request) return fail(request.error());
  std::optional<WaitingLine> waiting("looking for layouts that fit");
  const auto found = search_layouts(asked->question, *request);
  if (!found) return fail(found.error());
  const bool fits = !found->front.empty();
  if (!fits && found->smallest.empty()) return refuse("no layout could be timed", "plimsoll simulate says why of one");
  asked->question.layout = (fits ? found->front : found->smallest).front().layout;
  const auto best = predict_parallel(asked->question);  // every micro-batch, not in proportion
  const std::string more = fits || form.json || form.csv ? std::string() : enough_gpus(flags, parallel, *request);
  waiting.reset();
  if (!best) return fail(best.error());
  const auto training = whole_training(flags, asked->question, *best);
  if (!training) return fail(training.error());
  if (!request->global_batch)
    asked->notes.push_back(fmt::format("global batch of {} sequences, {} a GPU; say --global-batch for yours",
                                       found->global_batch, request->micro_batch.value_or(1)));
  if (*training) asked->notes.insert(asked->notes.end(), (*training)->assumed.begin(), (*training)->assumed.end());
  const ParallelQuestion& question = asked->question;
  const std::string text = form.json  ? searched_json(question, *best, *found, *training)
                           : form.csv ? (*training ? training_csv(**training) : front_csv(*found))
                                      : parallel_text(question, *best, asked->notes, *training) + front_text(*found, limit) + more;
  return Answered{.code = best->fits() ? ExitCode::kDone : ExitCode::kMissed, .text = text, .said = {}};
}

}  // namespace plimsoll
