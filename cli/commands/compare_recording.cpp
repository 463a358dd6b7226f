#include "cli/commands/compare_recording.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/print/waiting_line.h"
#include "core/trace/match_units.h"
#include "formats/exporters/torch_blocks.h"
#include "formats/runs/run_file.h"
#include "formats/runs/short_kernel_name.h"
#include "formats/traces/read_nsight.h"
#include "formats/traces/read_recording.h"

namespace plimsoll {
namespace {

constexpr std::size_t kMostUnmatched = 8;

struct ForeignComparison {
  UnitStep predicted;
  UnitStep measured;
  UnitMatch match;
  std::string source;

  /// (measured − predicted) ÷ measured, as of runs of our own.
  [[nodiscard]] double error() const {
    const auto seconds = static_cast<double>(measured.duration.count);
    return seconds > 0 ? (seconds - static_cast<double>(predicted.duration.count)) / seconds : 0;
  }
};

std::string unmatched_text(const std::string& side, const std::vector<UnmatchedName>& names) {
  std::string text;
  std::size_t shown = 0;
  Nanoseconds rest;
  for (const UnmatchedName& name : names) {
    if (++shown > kMostUnmatched) rest += name.time;
    else text += fmt::format("    {:>12} {:>6} x  {}\n", to_text(name.time), name.units, short_kernel_name(name.name));
  }
  if (text.empty()) return {};
  if (shown > kMostUnmatched) text += fmt::format("    {:>12}           {} more\n", to_text(rest), shown - kMostUnmatched);
  return fmt::format("  not matched, {} only:\n{}", side, text);
}

std::string text_of(const ForeignComparison& c) {
  std::string text = fmt::format("{}, {}: step {}, predicted {} ({:+.1f} %)\n", c.source, c.measured.step,
                                 to_text(c.measured.duration), to_text(c.predicted.duration), -100 * c.error());
  text += fmt::format("  matched by {}class and order: {:.1f} % of the measured {} time, {:.1f} % of the predicted\n",
                      c.match.layers ? "layer, " : "", 100 * c.match.measured_share,
                      c.measured.on_device ? "device" : "operators'", 100 * c.match.predicted_share);
  text += fmt::format("  {:<10} {:<12} {:>6} {:>12} {:>12} {:>8}\n", "phase", "class", "units", "predicted", "measured", "ratio");
  for (const MatchedClass& row : c.match.classes) {
    const double ratio = row.predicted.count > 0
                             ? static_cast<double>(row.measured.count) / static_cast<double>(row.predicted.count)
                             : 0;
    text += fmt::format("  {:<10} {:<12} {:>6} {:>12} {:>12} {:>8.2f}\n", to_text(row.phase), to_text(row.sort), row.units,
                        to_text(row.predicted), to_text(row.measured), ratio);
  }
  text += unmatched_text("measured", c.match.only_measured) + unmatched_text("predicted", c.match.only_predicted);
  if (!c.measured.operators)
    text += "  the recording names no operators: kernels are told apart by their names, phases not at all\n";
  return text;
}

nlohmann::ordered_json names_json(const std::vector<UnmatchedName>& names) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const UnmatchedName& name : names) {
    list.push_back({{"phase", to_text(name.phase)}, {"class", to_text(name.sort)}, {"name", name.name}, {"units", name.units},
                    {"seconds", to_seconds(name.time)}});
  }
  return list;
}

std::string json_of(const ForeignComparison& c) {
  nlohmann::ordered_json classes = nlohmann::ordered_json::array();
  for (const MatchedClass& row : c.match.classes) {
    classes.push_back({{"phase", to_text(row.phase)}, {"class", to_text(row.sort)}, {"units", row.units},
                       {"predicted_seconds", to_seconds(row.predicted)}, {"measured_seconds", to_seconds(row.measured)}});
  }
  const nlohmann::ordered_json object{
      {"format_version", 1},
      {"source", c.source},
      {"step",
       {{"measured_step", c.measured.step},
        {"predicted_seconds", to_seconds(c.predicted.duration)},
        {"measured_seconds", to_seconds(c.measured.duration)},
        {"error", c.error()}}},
      {"matched_fraction", c.match.measured_share},
      {"matched_fraction_predicted", c.match.predicted_share},
      {"matched_by", {{"operators", c.measured.operators}, {"layers", c.match.layers}, {"device_times", c.measured.on_device}}},
      {"classes", classes},
      {"unmatched", {{"measured", names_json(c.match.only_measured)}, {"predicted", names_json(c.match.only_predicted)}}}};
  return object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

/// The prediction of a run file, with its plan.
Result<UnitStep> predicted_units(const std::string& file, bool kernels) {
  const auto run = read_run_file(file);
  if (!run) return fail(run.error());
  const NamedTrace* trace = run->trace("predicted");
  if (trace == nullptr) trace = run->trace("run");
  const Plan* plan = trace == nullptr ? nullptr : run->plan(trace->trace.plan_digest);
  if (plan == nullptr && run->plans.size() == 1) plan = &run->plans.front().plan;  // of a file with one plan, whoever made it
  if (plan == nullptr || trace->trace.events.empty()) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "the run file has no predicted steps of a plan",
                 .where = file,
                 .remedy = "make one with plimsoll plan MODEL … --timeline FILE"});
  }
  const TorchBlocks* const blocks = torch_blocks(plan->spec);
  if (blocks == nullptr) return units_of_plan(*plan, trace->trace, kernels);
  return units_of_plan(*plan, trace->trace, kernels, {blocks->query_products, blocks->inner_products, blocks->fused_norms});
}

}  // namespace

bool is_recording(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::string begin(15, '\0');
  in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  if (in.gcount() == 0) return false;
  if (begin != "SQLite format 3") return true;
  const auto activity = holds_activity(file);
  if (!activity || !*activity) return false;
  const auto run = read_run_file(file);
  return !run || run->plans.empty();
}

Result<Answered> compare_recording(const std::string& predicted, const std::string& measured, std::optional<double> threshold,
                                   bool json) {
  const WaitingLine waiting("comparing");
  const auto recording = read_recording(measured, true);
  if (!recording) return fail(recording.error());
  ForeignComparison comparison{.measured = units_of_recording(*recording), .source = recording->source};
  if (comparison.measured.units.empty()) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "the trace holds neither operators nor device work",
                 .where = measured,
                 .remedy = "record a training step with torch.profiler or plimsoll profile"});
  }
  auto units = predicted_units(predicted, !comparison.measured.operators);
  if (!units) return fail(units.error());
  comparison.predicted = std::move(*units);
  comparison.match = match_units(comparison.predicted, comparison.measured);
  const bool missed = threshold && std::fabs(comparison.error()) > *threshold / 100;
  return Answered{.code = missed ? ExitCode::kMissed : ExitCode::kDone,
                  .text = json ? json_of(comparison) : text_of(comparison),
                  .said = {}};
}

}  // namespace plimsoll
