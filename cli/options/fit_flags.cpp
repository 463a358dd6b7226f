#include "cli/options/fit_flags.h"
#include "cli/options/number_checks.h"

#include <fmt/format.h>

#include "cli/inputs/target_machine.h"
#include "cli/options/other_stack.h"
#include "cli/options/size_option.h"
#include "cli/options/strategy_choice.h"
#include "core/graph/buildable.h"
#include "formats/machines/catalogue_platform.h"
#include "sim/answers/average_step.h"

namespace plimsoll {
namespace {

tl::unexpected<Error> refuse(std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = std::move(remedy)});
}

/// Under another program than ours; its rules know GPUs and what is around them.
Result<AskedQuestion> ask_other_stack(const FitFlags& flags) {
  if (!flags.calibration.empty())
    return refuse(fmt::format("measurements replace the catalogue's for plimsoll's own step, not for --stack {}",
                              flags.stack.stack),
                  "leave --calibration out");
  auto other = read_other_stack(flags.model, flags.stack, flags.machine, flags.training, flags.strategy);
  if (!other) return fail(other.error());
  std::string machine = boards_of(*other);
  AskedQuestion asked{.question = {.spec = std::move(other->spec), .recipe = std::move(other->recipe), .stack = std::move(other->setup)},
                      .machine = std::move(machine),
                      .notes = std::move(other->notes)};
  auto placed = on_machine(std::move(asked.question), std::move(other->machine));
  if (!placed) return fail(placed.error());
  asked.question = std::move(*placed);
  return asked;
}

/// The catalogue's GPU that the flags name, where they describe a machine by one.
Result<std::optional<CataloguedMachine>> catalogued_machine(const MachineFlags& flags) {
  if (!flags.machine_file.empty() || flags.gpu.empty() || flags.gpu == "this") return std::nullopt;
  const auto gpu = find_gpu(built_in_gpu_catalogue(), flags.gpu);
  if (!gpu) return fail(gpu.error());
  const auto options = read_machine_options(flags);
  if (!options) return fail(options.error());
  return CataloguedMachine{*gpu, *options};
}

/// The flags, under PyTorch where nobody said who trains and plimsoll has no kernels for the model. What is said of
/// that goes to `note`.
FitFlags with_able_stack(const FitFlags& flags, std::string& note) {
  if (flags.stack.other() || flags.stack.typed() || flags.strategy != FitFlags{}.strategy || flags.machine.gpu.empty())
    return flags;
  const auto model = describe_model(flags.model, flags.training);
  const bool adapters = !flags.training.adapter.lora.empty();
  const std::string_view lacking = model ? unbuildable_training(model->spec, adapters) : std::string_view{};
  if (lacking.empty() || flags.machine.gpu == "this") return flags;
  note = fmt::format("--stack pytorch: {} {}, for which plimsoll's own step has no kernels", model->spec.name, lacking);
  FitFlags able = flags;
  able.stack.stack = "pytorch";
  return able;
}

Result<AskedQuestion> ask_plimsoll(const FitFlags& flags) {
  const auto strategy = read_strategy_choice(flags.strategy);
  if (!strategy) return fail(strategy.error());
  const auto model = describe_model(flags.model, flags.training);
  if (!model) return fail(model.error());
  auto machine = find_target_machine(flags.machine, flags.calibration);
  if (!machine) return fail(machine.error());
  for (const ModelNote& note : model->notes) machine->notes.push_back(note.text);
  auto recipe = make_recipe(flags.training, model->spec, machine->precision, machine->precision_reason, machine->notes);
  if (!recipe) return fail(recipe.error());
  note_clipping(*recipe, machine->notes);
  if (const auto taken = take_system(strategy->family, *recipe, machine->notes); !taken) return fail(taken.error());
  auto parts = catalogued_machine(flags.machine);
  if (!parts) return fail(parts.error());
  Question question{.spec = model->spec, .recipe = std::move(*recipe), .strategy = strategy->family, .exact = strategy->exact};
  question.machine = std::move(*parts);
  question.platform = std::move(machine->platform);
  question.costs = std::move(machine->costs);
  AskedQuestion asked{.question = std::move(question), .machine = {}, .notes = std::move(machine->notes)};
  asked.machine = asked.question.platform.name;
  return asked;
}

Result<std::optional<Preparation>> read_preparation(const std::string& text) {
  if (text.empty()) return std::nullopt;
  if (text == "ahead") return Preparation::kAhead;
  if (text == "online") return Preparation::kOnLine;
  if (text == "none") return Preparation::kNone;
  return refuse(fmt::format("--prepare '{}' is no way to prepare data", text), "choose ahead, online or none");
}

}  // namespace

void add_question_flags(CLI::App& command, FitFlags& flags) {
  add_machine_flags(command, flags.machine);
  add_shape_flags(command, flags.training);
  add_stack_flags(command, flags.stack);
  command.add_option("--strategy", flags.strategy, strategy_help(", all"))->capture_default_str();
  command.add_option("--calibration", flags.calibration,
                     "measurements that replace the catalogue's: a run file, or CSV or JSON of samples");
}

void add_length_flags(CLI::App& command, LengthFlags& flags) {
  const std::string group = "Whole training";
  command.add_option("--tokens", flags.request.tokens,
                     "how long the training is: 300B, chinchilla (20 a parameter), chinchilla:40, or a data set: c4, the-pile, …")
      ->group(group);
  command.add_option("--samples", flags.request.samples, "the same in sequences or images: 1.2M, imagenet, coco, laion-5b")
      ->group(group);
  command.add_option("--epochs", flags.request.epochs, "how often over --tokens or --samples")->group(group);
  const auto term = [&](CLI::Option* option) { flags.options.push_back(option->group(group)); };
  term(command.add_option("--price", flags.terms.price_per_hour, "of a GPU with its share of the machine, an hour")
           ->check(not_below_zero()));
  term(command.add_option("--electricity", flags.terms.price_per_kwh, "price of a kWh")->check(not_below_zero()));
  term(command.add_option("--tbw", flags.tbw, "bytes that all drives are rated for, e.g. 600TB (default: 600 TB a TB)"));
  term(command.add_option("--checkpoint-hours", flags.terms.checkpoint_hours, "between two checkpoints (default: 1)")
           ->check(CLI::Range(0.001, 1e6)));
  term(command.add_option("--prepare", flags.prepare,
                          "tokenize and decode ahead (texts' default), online (images' default) or none: it is done already"));
}

Result<AskedQuestion> read_question(const FitFlags& typed) {
  std::string note;
  const FitFlags flags = with_able_stack(typed, note);
  if (const auto goes = check_stack_options(flags.stack); !goes) return fail(goes.error());
  auto asked = flags.stack.other() ? ask_other_stack(flags) : ask_plimsoll(flags);
  if (!asked) return asked;
  if (!note.empty()) asked->notes.insert(asked->notes.begin(), std::move(note));
  if (asked->question.recipe.schedule != LrSchedule::kConstant) asked->question.recipe.total_steps = flags.steps;
  if (const auto valid = validate(asked->question.recipe, asked->question.spec); !valid) return fail(valid.error());
  return asked;
}

Result<BillTerms> read_bill_terms(const LengthFlags& flags) {
  if (!flags.request.is_given()) {
    for (const CLI::Option* option : flags.options) {
      if (option->count() == 0) continue;
      return refuse(fmt::format("{} is about a whole training", option->get_name()),
                    "say how long it is with --tokens or --samples");
    }
  }
  BillTerms terms = flags.terms;
  const auto preparation = read_preparation(flags.prepare);
  if (!preparation) return fail(preparation.error());
  terms.preparation = *preparation;
  if (!flags.tbw.empty()) {
    const auto rated = read_large_size("--tbw", flags.tbw);
    if (!rated) return fail(rated.error());
    terms.drive_rated = static_cast<double>(rated->count);
  }
  return terms;
}

Result<void> add_bill(const LengthFlags& flags, const Question& question, FitAnswer& answer) {
  const auto terms = read_bill_terms(flags);
  if (!terms) return fail(terms.error());
  if (!flags.request.is_given()) return {};
  const auto length = training_length(flags.request, question.spec, tokens_of_sample(question));
  if (!length) return fail(length.error());
  auto bill = bill_average(question, answer, *length, *terms);
  if (!bill) return fail(bill.error());
  answer.training = std::move(*bill);
  return {};
}

}  // namespace plimsoll
