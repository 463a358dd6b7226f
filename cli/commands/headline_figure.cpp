#include "cli/commands/headline_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "cli/commands/fit_workload.h"
#include "cli/options/fit_flags.h"
#include "cli/options/parallel_flags.h"
#include "cli/print/print_net.h"
#include "sim/answers/near_answer.h"
#include "sim/planner/strategy_families.h"
#include "sim/schedule/make_schedule.h"
#include "sim/schedule/time_schedule.h"

namespace plimsoll {
namespace {

constexpr double kHour = 3600;
constexpr double kDay = 24 * kHour;
constexpr double kYear = 365.25 * kDay;

tl::unexpected<Error> refuse(std::string what, const Headline& headline) {
  return fail({.kind = ErrorKind::kInput,
               .what = std::move(what),
               .where = fmt::format("headline '{}'", headline.id),
               .remedy = {}});
}

/// Reads the words after the command's name; CLI11 takes them last first.
Result<void> parse(CLI::App& app, const std::vector<std::string>& words, const Headline& headline) {
  std::vector<std::string> rest(words.rbegin(), words.rend() - 1);
  try {
    app.parse(std::move(rest));
  } catch (const CLI::ParseError& error) {
    return refuse(error.what(), headline);
  }
  return {};
}

double state_bytes(const FitAnswer& answer) {
  if (answer.memory.empty()) return 0;
  const auto& by = answer.memory.front().by_category;
  return static_cast<double>((by.parameters + by.gradients + by.optimizer).count);
}

double activation_bytes(const FitAnswer& answer) {
  return answer.memory.empty() ? 0 : static_cast<double>(answer.memory.front().by_category.activations.count);
}

double training_seconds(const FitAnswer& answer) { return answer.training ? answer.training->seconds : 0; }

using FitFigure = std::function<double(const FitAnswer&)>;

const std::map<std::string, FitFigure>& fit_figures() {
  static const std::map<std::string, FitFigure> figures{
      {"fits", [](const FitAnswer& a) { return a.fits ? 1.0 : 0.0; }},
      {"step_seconds", [](const FitAnswer& a) { return a.step_seconds; }},
      {"tokens_per_second", [](const FitAnswer& a) { return a.tokens_per_second; }},
      {"model_tflops", [](const FitAnswer& a) { return a.model_tflops_per_gpu; }},
      {"hardware_tflops", [](const FitAnswer& a) { return a.hardware_tflops_per_gpu; }},
      {"tflops_8n", [](const FitAnswer& a) {
         return 8e-12 * static_cast<double>(a.active_parameters) * a.tokens_per_second / static_cast<double>(a.gpus);
       }},
      {"hours", [](const FitAnswer& a) { return training_seconds(a) / kHour; }},
      {"days", [](const FitAnswer& a) { return training_seconds(a) / kDay; }},
      {"gpu_years", [](const FitAnswer& a) { return training_seconds(a) * static_cast<double>(a.gpus) / kYear; }},
      {"cost_millions", [](const FitAnswer& a) { return a.training ? a.training->cost.value_or(0) * 1e-6 : 0; }},
      {"activation_gb", [](const FitAnswer& a) { return activation_bytes(a) * 1e-9; }},
      {"state_gb", [](const FitAnswer& a) { return state_bytes(a) * 1e-9; }}};
  return figures;
}

std::string missing(const FitAnswer& answer) {
  std::string text;
  for (const SpaceAnswer& space : answer.memory) {
    if (space.margin() >= Bytes(0)) continue;
    text += fmt::format("{}{} short of {}", text.empty() ? "" : ", ", space.space, to_text(space.peak - space.usable));
  }
  return text;
}

/// Whether any plan fits, whatever its time. That none is found says little: a full search may find one.
bool has_room(const Question& question) {
  if (question.stack || question.exact || question.strategy != "auto") return false;
  const auto starts = candidate_strategies(question.spec.blocks(), question.platform, question.recipe.precision,
                                           question.recipe.adapter.exists());
  const auto room = near_answer(question, starts, {.evaluations = 60, .memory = true});
  return room && room->fits;
}

Result<HeadlineAnswer> fit_line(const std::vector<std::string>& words, const Headline& headline) {
  const auto figure = fit_figures().find(headline.figure);
  if (figure == fit_figures().end()) return refuse(fmt::format("'fit' has no figure '{}'", headline.figure), headline);
  CLI::App app;
  FitFlags flags;
  app.add_option("MODEL", flags.model)->required();
  add_question_flags(app, flags);
  add_length_flags(app, flags.length);
  if (const auto read = parse(app, words, headline); !read) return fail(read.error());
  const auto asked = read_question(flags);
  if (!asked) return fail(asked.error());
  if (headline.figure == "fits" && has_room(asked->question)) return HeadlineAnswer{1, true, {}};
  auto answer = answer_question(asked->question, {.alternatives = false});
  if (!answer) return fail(answer.error());
  if (const auto billed = add_bill(flags.length, asked->question, *answer); !billed) return fail(billed.error());
  return HeadlineAnswer{figure->second(*answer), answer->fits, missing(*answer)};
}

Result<HeadlineAnswer> schedule_line(const std::vector<std::string>& words, const Headline& headline) {
  ScheduleRequest request;
  CLI::App app;
  app.add_option("NAME", request.name)->required();
  app.add_option("--stages", request.ranks)->required();
  app.add_option("--micro-batches", request.micro_batches)->required();
  app.add_option("--chunks", request.chunks);
  if (const auto read = parse(app, words, headline); !read) return fail(read.error());
  const auto schedule = make_schedule(request);
  if (!schedule) return fail(schedule.error());
  const PipelineShape shape{static_cast<std::uint32_t>(schedule->ranks()), schedule->stages, schedule->micro_batches};
  const auto costs = even_costs(request.costs, shape);
  if (!costs) return fail(costs.error());
  const double bubble = time_schedule(*schedule, *costs).bubble_fraction();
  if (headline.figure == "bubble_percent") return HeadlineAnswer{.value = 100 * bubble};
  if (headline.figure == "bubble_of_ideal") return HeadlineAnswer{.value = bubble / (1 - bubble)};
  return refuse(fmt::format("'schedule' has no figure '{}'", headline.figure), headline);
}

/// A net that no ModelSpec says: days, hours or GPU years of --samples, or a step's seconds.
Result<HeadlineAnswer> net_line(const std::vector<std::string>& words, const Headline& headline) {
  CLI::App app;
  FitFlags flags;
  WorkloadFlags workload;
  app.add_option("MODEL", flags.model)->required();
  add_question_flags(app, flags);
  add_length_flags(app, flags.length);
  add_workload_flags(app, workload);
  if (const auto read = parse(app, words, headline); !read) return fail(read.error());
  workload.given = given_options(app);
  const auto answer = answer_net({flags.model, flags.machine, flags.training, workload, flags.stack, flags.calibration,
                                  flags.length.request.samples, false});
  if (!answer) return fail(answer.error());
  const double seconds = training_seconds(*answer);
  const std::map<std::string, double> figures{{"step_seconds", answer->prediction.time.step},
                                              {"hours", seconds / kHour},
                                              {"days", seconds / kDay},
                                              {"gpu_years", seconds * static_cast<double>(answer->gpus) / kYear}};
  const auto figure = figures.find(headline.figure);
  if (figure == figures.end()) return refuse(fmt::format("a net has no figure '{}'", headline.figure), headline);
  const bool fits = answer->prediction.fits;
  return HeadlineAnswer{figure->second, fits, fits ? "" : "gpu0 short of " + to_text(Bytes(-answer->prediction.margin.count))};
}

/// A layout over many GPUs.
Result<HeadlineAnswer> simulate_line(const std::vector<std::string>& words, const Headline& headline) {
  CLI::App app;
  std::string model;
  MachineFlags machine;
  TrainingFlags training;
  StackFlags stack;
  ParallelFlags parallel;
  app.add_option("MODEL", model)->required();
  add_layout_flags(app, machine, stack);
  add_parallel_flags(app, parallel);
  add_shape_flags(app, training);
  if (const auto read = parse(app, words, headline); !read) return fail(read.error());
  auto asked = read_parallel(model, parallel, stack, machine, training);
  if (!asked) return fail(asked.error());
  const auto request = read_layout(app, parallel, stack, training);
  if (!request) return fail(request.error());
  asked->question.layout = layout_as_said(*request, asked->question.cluster.gpus);
  const auto answer = predict_parallel(asked->question);
  if (!answer) return fail(answer.error());
  const std::map<std::string, double> figures{{"fits", answer->fits() ? 1.0 : 0.0},
                                              {"step_seconds", answer->step_seconds},
                                              {"model_tflops", answer->model_tflops_per_gpu()}};
  const auto figure = figures.find(headline.figure);
  if (figure == figures.end()) return refuse(fmt::format("'simulate' has no figure '{}'", headline.figure), headline);
  const std::string missing = answer->fits() ? "" : "a GPU short of " + to_text(answer->peak() - answer->usable);
  return HeadlineAnswer{figure->second, answer->fits(), missing};
}

Result<HeadlineAnswer> answer_line(const std::vector<std::string>& words, const Headline& headline) {
  const bool net = std::find(words.begin(), words.end(), "--workload") != words.end();
  if (!words.empty() && words.front() == "fit") return net ? net_line(words, headline) : fit_line(words, headline);
  if (!words.empty() && words.front() == "simulate") return simulate_line(words, headline);
  if (!words.empty() && words.front() == "schedule") return schedule_line(words, headline);
  return refuse("its command is none of 'fit', 'simulate' and 'schedule'", headline);
}

}  // namespace

Result<HeadlineAnswer> answer_headline(const Headline& headline) {
  auto answer = answer_line(headline.command, headline);
  if (!answer || headline.against.empty()) return answer;
  const auto other = answer_line(headline.against, headline);
  if (!other) return other;
  if (answer->value <= 0) return refuse("a ratio to nothing", headline);
  answer->value = other->value / answer->value;
  answer->fits = answer->fits && other->fits;
  if (answer->short_of.empty()) answer->short_of = other->short_of;
  return answer;
}

}  // namespace plimsoll
