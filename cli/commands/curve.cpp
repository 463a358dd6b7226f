#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/options/fit_flags.h"
#include "cli/print/output_file.h"
#include "cli/print/print_fit.h"
#include "cli/print/print_training.h"
#include "cli/print/table_output.h"
#include "cli/print/waiting_line.h"
#include "cli/program/answer_error.h"
#include "cli/program/keep_freed_memory.h"
#include "formats/text/csv.h"
#include "formats/text/json_text.h"
#include "formats/text/write_text_file.h"
#include "sim/answers/average_step.h"
#include "sim/answers/draw_chart.h"
#include "sim/answers/size_curve.h"

namespace plimsoll {
namespace {

constexpr double kDay = 86400;

struct CurveFlags {
  FitFlags asked;
  std::vector<std::string> models;
  std::string family;
  std::string svg;
  bool json = false;
  bool csv = false;
  std::string output;
};

Result<std::vector<std::string>> model_names(const CurveFlags& flags) {
  if (flags.family.empty() == flags.models.empty()) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "which models?",
                 .where = {},
                 .remedy = "name them, or one --family, not both"});
  }
  return flags.family.empty() ? flags.models : published_ladder(flags.family);
}

/// What is assumed of each model, and the machine, which is the same for all.
struct Assumed {
  std::string machine;
  std::vector<std::vector<std::string>> of_models;

  /// What holds for all models.
  [[nodiscard]] std::vector<std::string> common() const {
    std::vector<std::string> shared = of_models.front();
    for (const auto& notes : of_models)
      std::erase_if(shared, [&](const std::string& note) { return std::find(notes.begin(), notes.end(), note) == notes.end(); });
    return shared;
  }
};

Result<std::vector<CurveModel>> read_models(const CurveFlags& flags, Assumed& assumed) {
  if (!flags.asked.length.request.is_given()) {
    return fail({.kind = ErrorKind::kInput, .what = "how long are they trained?", .where = {},
                 .remedy = "add --tokens chinchilla, 300B, or a data set"});
  }
  if (flags.asked.strategy == "all") {
    return fail({.kind = ErrorKind::kInput,
                 .what = "a curve is of one strategy",
                 .where = {},
                 .remedy = "leave --strategy all out"});
  }
  const auto names = model_names(flags);
  if (!names) return fail(names.error());
  std::vector<CurveModel> models;
  for (const std::string& name : *names) {
    FitFlags asked = flags.asked;
    asked.model = name;
    auto question = read_question(asked);
    if (!question) return fail(question.error());
    if (!question->question.stack) {
      if (const auto one = check_one_gpu(asked.machine); !one) return fail(one.error());
    }
    auto length = training_length(flags.asked.length.request, question->question.spec, tokens_of_sample(question->question));
    if (!length) return fail(length.error());
    assumed.machine = question->machine;
    assumed.of_models.push_back(std::move(question->notes));
    models.push_back({name, std::move(question->question), std::move(*length)});
  }
  return models;
}

std::string plan_of(const FitAnswer& answer) { return answer.setup.empty() ? answer.strategy.name : answer.stack; }

std::string curve_text(const std::vector<CurveModelAnswer>& curve, const std::string& machine) {
  std::string text = fmt::format("training on {}\n  {:<18}{:>12}{:>10}  {:>11}  {:>24}  {:>12}  {:>11}  plan\n", machine, "model",
                                 "parameters", "tokens", "time", "between", "cost", "kWh");
  for (const CurveModelAnswer& one : curve) {
    const TrainingAnswer& t = *one.answer.training;
    const std::string head =
        fmt::format("  {:<18}{:>12}{:>10}  ", one.name, amount_text(static_cast<double>(one.answer.parameters)),
                    amount_text(t.tokens > 0 ? t.tokens : t.samples));
    if (!one.answer.fits) text += head + "does not fit\n";
    else
      text += head + fmt::format("{:>11}  {:>24}  {:>12}  {:>11}  {}\n", duration_text(t.seconds),
                                 duration_text(t.seconds_low) + " to " + duration_text(t.seconds_high),
                                 t.cost ? fmt::format("{:.2f}", *t.cost) : "",
                                 t.energy_kwh ? fmt::format("{:.4g}", *t.energy_kwh) : "", plan_of(one.answer));
  }
  return text;
}

std::string curve_csv(const std::vector<CurveModelAnswer>& curve) {
  std::string text =
      "model,parameters,tokens,samples,fits,seconds,seconds_low,seconds_high,cost,energy_kwh,drive_written_bytes,"
      "limit\n";
  for (const CurveModelAnswer& one : curve) {
    const TrainingAnswer& t = *one.answer.training;
    const auto optional = [](const std::optional<double>& value) { return value ? json_number(*value) : std::string(); };
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", csv_field(one.name), one.answer.parameters,
                        json_number(t.tokens), json_number(t.samples), one.answer.fits, json_number(t.seconds),
                        json_number(t.seconds_low), json_number(t.seconds_high), optional(t.cost),
                        optional(t.energy_kwh), json_number(t.drive_written), csv_field(t.limit));
  }
  return text;
}

std::string curve_json(const std::vector<CurveModelAnswer>& curve) {
  std::vector<std::string> items;
  for (const CurveModelAnswer& one : curve) {
    JsonLine line;
    line.text("model", one.name).integer("parameters", one.answer.parameters).flag("fits", one.answer.fits);
    line.text("plan", plan_of(one.answer)).number("step_seconds", one.answer.step_seconds);
    items.push_back(line.raw("training", to_json(*one.answer.training)).str());
  }
  return json_lines(items, 0) + "\n";
}

Result<void> write_chart(const std::string& path, const std::vector<CurveModelAnswer>& curve, const std::string& machine) {
  if (path.empty()) return {};
  if (auto sound = check_replaceable(path, FileKind::kSvg); !sound) return sound;
  std::vector<ChartPoint> points;
  for (const CurveModelAnswer& one : curve) {
    if (!one.answer.fits) continue;
    const TrainingAnswer& t = *one.answer.training;
    points.push_back({static_cast<double>(one.answer.parameters) * 1e-9, t.seconds / kDay, t.seconds_low / kDay,
                      t.seconds_high / kDay, fmt::format("{}: {}", one.name, duration_text(t.seconds))});
  }
  write_text_file(path, draw_curve(fmt::format("Training on {}", machine), "parameters (B)", "days", points));
  return {};
}

Result<ExitCode> answer_curve(const CurveFlags& flags) {
  if (const auto place = check_table_output(flags.output); !place) return fail(place.error());
  const auto terms = read_bill_terms(flags.asked.length);
  if (!terms) return fail(terms.error());
  Assumed assumed;
  const auto models = read_models(flags, assumed);
  if (!models) return fail(models.error());
  std::optional<WaitingLine> waiting("planning every size");
  const auto curve = size_curve(*models, *terms);
  waiting.reset();
  if (!curve) return fail(curve.error());
  if (const auto drawn = write_chart(flags.svg, *curve, assumed.machine); !drawn) return fail(drawn.error());
  for (std::size_t i = 0; i < curve->size(); ++i) {
    const auto& billed = (*curve)[i].answer.training->assumed;
    assumed.of_models[i].insert(assumed.of_models[i].end(), billed.begin(), billed.end());
  }
  const std::string text = flags.json  ? curve_json(*curve)
                           : flags.csv ? curve_csv(*curve)
                                       : curve_text(*curve, assumed.machine) + notes_text(assumed.common());
  if (const auto put = put_table(text, flags.output); !put) return fail(put.error());
  const bool some = std::any_of(curve->begin(), curve->end(), [](const CurveModelAnswer& one) { return one.answer.fits; });
  return some ? ExitCode::kDone : ExitCode::kMissed;
}

}  // namespace

void add_curve(CLI::App& app, ExitCode& code) {
  auto flags = std::make_shared<CurveFlags>();
  CLI::App* command = app.add_subcommand("curve", "Time and cost of a whole training over model sizes");
  command->footer(
      "Example: plimsoll curve --family gpt2 --on \"RTX 4090\" --ram 64GiB --batch 4 --tokens chinchilla --price 0.4 "
      "--svg curve.svg\n"
      "Example: plimsoll curve gpt3-125m gpt3-1.3b --on \"A100 80GB SXM4\" --batch 8 --tokens the-pile --csv");
  command->add_option("MODELS", flags->models, "zoo names, configs or shapes in words");
  command->add_option("--family", flags->family, "all models of the zoo whose names begin so: gpt2, gpt3, llama2, qwen3, …");
  add_question_flags(*command, flags->asked);
  add_preference_flags(*command, flags->asked.stack);
  add_length_flags(*command, flags->asked.length);
  command->add_option("--svg", flags->svg, "write the curve to this file");
  command->add_flag("--json", flags->json, "machine-readable answer");
  command->add_flag("--csv", flags->csv, "the table as CSV")->excludes("--json");
  add_table_output(*command, flags->output);
  command->callback([flags, command, &code] {
    keep_freed_memory();
    const auto ended = answer_curve(*flags);
    code = ended ? *ended : report_error(*command, ended.error());
  });
}

}  // namespace plimsoll
