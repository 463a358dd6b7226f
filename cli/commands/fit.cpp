#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "cli/commands.h"
#include "cli/commands/fit_parallel.h"
#include "cli/commands/fit_settings.h"
#include "cli/commands/fit_workload.h"
#include "cli/options/durability_flags.h"
#include "cli/options/fit_flags.h"
#include "cli/options/strategy_choice.h"
#include "cli/print/output_file.h"
#include "cli/print/print_changes.h"
#include "cli/print/print_comparison.h"
#include "cli/print/print_fit.h"
#include "cli/print/print_safety.h"
#include "cli/print/print_training.h"
#include "cli/print/waiting_line.h"
#include "cli/program/answered.h"
#include "formats/graphs/step_graph.h"
#include "formats/models/onnx_file.h"
#include "formats/runs/report_json.h"
#include "formats/text/csv.h"
#include "formats/text/read_text_file.h"
#include "sim/answers/room_to_fit.h"
#include "sim/planner/safety_cost.h"

namespace plimsoll {
namespace {

struct FitOptions {
  FitFlags asked;
  WorkloadFlags workload;
  ParallelFlags parallel;
  std::string save_strategy;
  bool help_wanted = false;
  bool best_settings = false;
  bool all_changes = false;
  std::string prices;
  std::vector<std::string> price_of;
  double margin = 0;
  DurabilityFlags durability;
  bool json = false;
  bool csv = false;
};

tl::unexpected<Error> refuse(std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = std::move(remedy)});
}

/// What --prices and --price-of say.
Result<PriceList> read_prices(const FitOptions& options) {
  PriceList list;
  if (!options.prices.empty()) {
    const auto text = read_text_file(options.prices, kMiB);
    if (!text) return fail(text.error());
    auto read = PriceList::read(*text, options.prices);
    if (!read) return fail(read.error());
    list = std::move(*read);
  }
  for (const std::string& text : options.price_of) {
    const auto equals = text.rfind('=');
    const auto price = equals == std::string::npos ? std::nullopt : parse_number(std::string_view(text).substr(equals + 1));
    if (!price)
      return refuse(fmt::format("--price-of '{}' is not of the form ITEM=PRICE", text),
                    "for example --price-of ram=3.5");
    if (const auto set = list.set(text.substr(0, equals), *price, "--price-of"); !set) return fail(set.error());
  }
  return list;
}

/// Whether it fits is an answer too.
Answered verdict(bool fits, std::string text) {
  return {.code = fits ? ExitCode::kDone : ExitCode::kMissed, .text = std::move(text), .said = {}};
}

/// All that was taken for granted: by the question, by the answer and by its bill.
std::vector<std::string> notes_of(const AskedQuestion& asked, const FitAnswer& answer) {
  std::vector<std::string> notes = asked.notes;
  notes.insert(notes.end(), answer.assumed.begin(), answer.assumed.end());
  if (answer.training) notes.insert(notes.end(), answer.training->assumed.begin(), answer.training->assumed.end());
  return notes;
}

Result<Answered> help_with(const FitOptions& options, const AskedQuestion& asked) {
  const auto prices = read_prices(options);
  if (!prices) return fail(prices.error());
  std::optional<WaitingLine> waiting("trying every single change");
  auto help = what_would_help(asked.question, *prices);
  waiting.reset();
  if (!help) return fail(help.error());
  if (const auto billed = add_bill(options.asked.length, asked.question, help->today); !billed) return fail(billed.error());
  help->today.assumed = notes_of(asked, help->today);
  const bool fits = help->today.fits;
  if (options.json) return verdict(fits, changes_json(*help));
  if (options.csv) return verdict(fits, changes_csv(*help));
  std::string text = fit_text(help->today, asked.question.recipe, asked.machine, is_of_images(asked.question.spec));
  if (help->today.training) text += training_text(*help->today.training);
  return verdict(fits, text + changes_text(*help, options.all_changes) + notes_text(help->today.assumed));
}

Result<Answered> compare_all(const FitOptions& options, const AskedQuestion& asked) {
  const Question& question = asked.question;
  std::optional<WaitingLine> waiting("planning all systems");
  const auto comparison = compare_systems({question.spec, question.recipe, question.platform, *question.costs});
  waiting.reset();
  if (!comparison) return fail(comparison.error());
  const bool some = std::any_of(comparison->published.begin(), comparison->published.end(),
                                [](const FitAnswer& a) { return a.fits; });
  return verdict(comparison->own.fits || some,
                 options.json  ? comparison_json(*comparison)
                 : options.csv ? comparison_csv(*comparison)
                               : comparison_text(*comparison, question.recipe, asked.machine) + notes_text(asked.notes));
}

/// Options that the answer that is asked for has no place for.
Result<void> check_options(const FitOptions& options) {
  const bool length = options.asked.length.request.is_given();
  if (options.asked.strategy == "all") {
    if (length)
      return refuse("a whole training is billed for one strategy, not for all",
                    "leave the length out, or choose a --strategy");
    if (options.help_wanted) return refuse("--what-would-help asks about one strategy, not about all", "choose a --strategy");
  }
  if (options.margin > 0 && (options.asked.strategy == "all" || options.help_wanted)) {
    return refuse("--margin-of is of one plan", "leave --margin-of out, or --strategy all and --what-would-help");
  }
  const auto safety = read_safety(options.durability);
  if (!safety) return fail(safety.error());
  if (safety->durability != Durability::kNone &&
      (options.asked.strategy == "all" || options.help_wanted || options.asked.stack.other())) {
    return refuse("--durability is of one plan of plimsoll's", "leave it out, or --strategy all, --what-would-help and --stack");
  }
  if (safety->durability != Durability::kNone && options.asked.length.terms.checkpoint_hours)
    return refuse("--durability and --checkpoint-hours both say when checkpoints are written", "leave one out");
  if (!options.save_strategy.empty() && (options.asked.strategy == "all" || options.help_wanted)) {
    return refuse("--save-strategy is of one plan", "leave it out, or --strategy all and --what-would-help");
  }
  if (!options.help_wanted && (options.all_changes || !options.prices.empty() || !options.price_of.empty())) {
    return refuse("--all-changes, --prices and --price-of go with --what-would-help", "add --what-would-help");
  }
  if (options.help_wanted && !options.asked.calibration.empty()) {
    return refuse("measurements of one machine say nothing of a changed one", "leave --calibration or --what-would-help out");
  }
  return {};
}

std::string answer_text(const FitOptions& options, const AskedQuestion& asked, FitAnswer answer) {
  answer.assumed = notes_of(asked, answer);
  if (options.json) return to_json(answer);
  if (options.csv) return answer.training ? training_csv(*answer.training) : memory_csv(answer);
  std::string text = fit_text(answer, asked.question.recipe, asked.machine, is_of_images(asked.question.spec));
  if (answer.safety) text += safety_text(*answer.safety);
  if (answer.training) text += training_text(*answer.training);
  return text + notes_text(answer.assumed);
}

WorkloadRequest workload_request(const FitOptions& options) {
  const FitFlags& flags = options.asked;
  return {flags.model, flags.machine, flags.training, options.workload, flags.stack, flags.calibration,
          flags.length.request.samples, options.json, options.csv};
}

bool asks_safety(const FitOptions& options) { return !options.durability.durability.empty() || options.durability.save_every > 0; }

/// What can be said before the question is read.
Result<void> check_training(const FitOptions& options) {
  if (auto goes = check_no_workload(options.workload); !goes) return goes;
  if (const auto terms = read_bill_terms(options.asked.length); !terms) return fail(terms.error());
  return check_options(options);
}

/// Several GPUs under our own name: a layout is looked for, and answers of one plan's kind are refused.
Result<Answered> fit_many(const CLI::App& command, const FitOptions& options) {
  if (const auto several = check_several(command, options.asked.machine, options.asked.stack); !several)
    return fail(several.error());
  if (asks_safety(options)) return refuse("--durability is about training on one GPU", "leave it and --save-every, or --gpus out");
  if (options.help_wanted || options.margin > 0 || !options.save_strategy.empty()) {
    return refuse("--what-would-help, --margin-of and --save-strategy are of one GPU's plan", "leave them or --gpus out");
  }
  if (const auto goes = check_training(options); !goes) return fail(goes.error());
  return fit_parallel(command, options.asked, options.parallel, {.json = options.json, .csv = options.csv});
}

/// The settings of another program are looked for, and answers of one setup are refused.
Result<Answered> fit_best_settings(const CLI::App& command, const FitOptions& options) {
  const std::pair<bool, const char*> others[] = {{options.help_wanted, "--what-would-help"}, {options.margin > 0, "--margin-of"},
                                                 {!options.save_strategy.empty(), "--save-strategy"}, {asks_safety(options), "--durability"}};
  for (const auto& [asked, option] : others) {
    if (asked) return refuse(fmt::format("--best-settings chooses another program's settings, and {} asks something else", option), "leave one of them out");
  }
  if (const auto goes = check_training(options); !goes) return fail(goes.error());
  return fit_settings(command, options.asked, {.json = options.json, .csv = options.csv});
}

/// Answers of plimsoll's own plan alone.
Result<void> check_no_stack(const FitOptions& options, const AskedQuestion& asked) {
  if (!asked.question.stack) return {};
  if (options.margin > 0) return refuse("--margin-of compares plans of plimsoll's", "leave --margin-of or --stack out");
  if (!options.save_strategy.empty()) return refuse("--save-strategy is of one plan of plimsoll's", "leave it or --stack out");
  if (asks_safety(options)) return refuse("--durability is of one plan of plimsoll's", "leave it and --save-every out");
  return {};
}

Result<Answered> answer_with_plan(const FitOptions& options, const AskedQuestion& asked) {
  std::optional<WaitingLine> waiting("looking for plans that fit");
  if (const auto goes = check_no_stack(options, asked); !goes) return fail(goes.error());
  const Question& question = asked.question;
  auto answer = answer_question(question, {.room_budget = kRoomBudget, .margin_percent = options.margin});
  if (!answer) return fail(answer.error());
  waiting.reset();
  add_safety(options.durability, question.spec, question.recipe, question.platform, *answer);
  if (const auto billed = add_bill(options.asked.length, question, *answer); !billed) return fail(billed.error());
  if (!question.stack) save_strategy(options.save_strategy, answer->strategy);
  return verdict(answer->fits, answer_text(options, asked, *answer));
}

Result<Answered> fit_training(const FitOptions& options) {
  if (const auto goes = check_training(options); !goes) return fail(goes.error());
  if (const auto usable = check_strategy_output(options.save_strategy); !usable) return fail(usable.error());
  const auto asked = read_question(options.asked);
  if (!asked) return fail(asked.error());
  if (options.asked.strategy == "all") return compare_all(options, *asked);
  if (options.help_wanted) return help_with(options, *asked);
  return answer_with_plan(options, *asked);
}

Result<Answered> fit(const CLI::App& command, const FitOptions& options) {
  if (const auto goes = check_no_layout(command, options.asked.stack); !goes) return fail(goes.error());
  if (options.best_settings && options.workload.exists())
    return refuse("--best-settings is about training a model of the zoo, or of a folder", "leave it or --workload out");
  const bool onnx = names_onnx_file(options.asked.model), graph = is_step_graph_file(options.asked.model);
  if (options.asked.machine.direct_storage && (options.workload.exists() || onnx || graph)) {
    return refuse("--direct-storage is a way of plans that train", "leave it out");
  }
  if (onnx) return fit_onnx(workload_request(options));
  if (graph) return fit_graph(workload_request(options));
  if (options.workload.exists()) {
    if (asks_safety(options)) return refuse("--durability is about training a language model", "leave it and --save-every out");
    return fit_workload(workload_request(options));
  }
  if (options.best_settings) return fit_best_settings(command, options);
  if (asks_parallel(command, options.asked.machine, options.asked.stack)) return fit_many(command, options);
  return fit_training(options);
}

/// Another program learns from preferences as it trains on texts, with another loss.
void take_preferences(FitOptions& options) {
  std::string& workload = options.workload.workload;
  if (!options.asked.stack.other() || (workload != "dpo" && workload != "kto" && workload != "grpo")) return;
  options.asked.stack.preferences = std::exchange(workload, {});
  options.asked.stack.prompt = options.workload.prompt.value_or(0);
  std::erase(options.workload.given, "--prompt");
}

/// Which single changes would help, and what they cost.
void add_help_flags(CLI::App& command, FitOptions& options) {
  const std::string group = "What would help";
  command.add_flag("--what-would-help", options.help_wanted, "every single change of machine and training, simulated")
      ->group(group);
  command.add_flag("--all-changes", options.all_changes, "all GPUs that would help, not the best few")->group(group);
  command
      .add_option("--prices", options.prices,
                   "CSV with item,price: ram (a GiB), ssd (a TB), cpu, mainboard, or a GPU by name")
      ->group(group);
  command.add_option("--price-of", options.price_of, "one price: ITEM=PRICE, may be repeated")->group(group);
}

constexpr const char* kExamples =
      "Example: plimsoll fit gpt2-xl --on \"RTX 2060 6GB\" --what-would-help --price-of ram=3 --price-of \"RTX 3090=700\"\n"
      "Example: plimsoll fit gpt2-xl --on \"RTX 2060 6GB\" --ram 16GiB --ssd 200GB\n"
      "Example: plimsoll fit gpt3-175b --on \"A100 80GB\" --gpus 1024 --global-batch 1536\n"
      "Example: plimsoll fit llama3-8b --on \"H100 SXM5 80GB\" --stack pytorch --precision bf16-mixed --fp8 delayed --dp 8 --zero 3 --batch 2\n"
      "Example: plimsoll fit llama3-8b --on \"8x A100 80GB\" --stack megatron --global-batch 256 --seq 8192 --best-settings\n"
      "Example: plimsoll fit gpt2 --on \"RTX 4090\" --batch 8 --tokens openwebtext --price 0.4 --electricity 0.3";

}  // namespace

AskableCommand declare_fit(CLI::App& app) {
  auto options = std::make_shared<FitOptions>();
  CLI::App* command = app.add_subcommand("fit", "Will the training fit, how fast, and what limits it?");
  command->footer(kExamples);
  command->add_option("MODEL", options->asked.model,
                      "zoo name, config.json, .safetensors, .onnx, folder, gpt:layers=24,hidden=…, a step graph, or a training file of another program (train.yaml, docs/training-files.md)")
      ->required();
  add_question_flags(*command, options->asked);
  add_length_flags(*command, options->asked.length);
  add_workload_flags(*command, options->workload);
  add_parallel_flags(*command, options->parallel);
  command->add_option("--save-strategy", options->save_strategy,
                      "write what was found where it can be edited for --strategy FILE");
  command
      ->add_option("--margin-of", options->margin,
                   "does the plan stay the best when kernels and links are off by so many percent?")
      ->check(CLI::Range(0.0, 90.0));
  command->add_flag("--best-settings", options->best_settings,
                    "of a --stack: chooses what is not said of micro-batch, checkpoints, ZeRO stage, offloading and degrees, for as many sequences a step");
  add_durability_flags(*command, options->durability);
  add_help_flags(*command, *options);
  command->add_flag("--json", options->json, "machine-readable answer");
  command
      ->add_flag("--csv", options->csv,
                 "the table as CSV: changes, strategies, stages, layouts, policies, phases, or what each memory needs")
      ->excludes("--json");
  return {command, [options, command] {
            options->workload.given = given_options(*command);
            take_preferences(*options);
            if (!options->workload.exists()) options->workload.workload = workload_of_net(options->asked.model);
            if (!options->workload.exists()) options->asked.training.image = options->workload.image;
            return fit(*command, *options);
          }};
}

void add_fit(CLI::App& app, ExitCode& code) { print_when_called(declare_fit(app), code); }

}  // namespace plimsoll
