#include "cli/print/recorded_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/trace/compare_traces.h"
#include "formats/runs/run_file.h"

namespace plimsoll {
namespace {

tl::unexpected<Error> bad(const std::string& where, std::string what) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = where,
               .remedy = "give a folder of run files that plimsoll run --backend cuda made"});
}

Result<std::vector<std::filesystem::path>> run_files_in(const std::string& folder) {
  std::error_code trouble;
  std::vector<std::filesystem::path> files;
  for (std::filesystem::recursive_directory_iterator entry(folder, trouble), end; !trouble && entry != end; entry.increment(trouble)) {
    if (entry->path().extension() == ".plimsoll") files.push_back(entry->path());
  }
  if (trouble) return bad(folder, trouble.message());
  if (files.empty()) return bad(folder, "no run file is in it");
  std::sort(files.begin(), files.end());
  return files;
}

struct Line {
  std::string text;
  std::optional<double> error = {};  ///< (predicted − measured) ÷ measured; nothing where the two cannot be held against each other
};

/// What the step took: without a trace where enough of them had none, else traced.
Nanoseconds measured_step(const Comparison& comparison) {
  return comparison.untraced_error() ? comparison.untraced_step : comparison.measured_step;
}

Result<Line> line_of(const std::string& folder, const std::filesystem::path& file) {
  const auto run = read_run_file(file.string());
  if (!run) return fail(run.error());
  const NamedTrace *foretold = run->trace("predicted"), *ran = run->trace("run");
  const Plan* plan = run->last_plan();
  if (foretold == nullptr || ran == nullptr || plan == nullptr) return bad(file.string(), "the run was not foretold, or did not come to its plan");
  const std::string name = std::filesystem::relative(file, folder).replace_extension().string();
  const auto comparison = compare_traces(*plan, foretold->trace, ran->trace);
  if (!comparison) return Line{fmt::format("| {} | {} | | | {} |\n", name, plan->strategy.name, comparison.error().what)};
  const double told = to_seconds(comparison->predicted_step), found = to_seconds(measured_step(*comparison));
  return Line{fmt::format("| {} | {} | {:.2f} ms | {:.2f} ms | {:+.1f} % |\n", name, plan->strategy.name, 1e3 * told, 1e3 * found,
                          100 * (told / found - 1)),
              told / found - 1};
}

}  // namespace

Result<std::string> recorded_runs_markdown(const std::string& folder) {
  const auto files = run_files_in(folder);
  if (!files) return fail(files.error());
  std::string rows;
  double sum = 0, worst = 0;
  int compared = 0;
  for (const std::filesystem::path& file : *files) {
    const auto line = line_of(folder, file);
    if (!line) return fail(line.error());
    rows += line->text;
    if (!line->error) continue;
    ++compared;
    sum += std::abs(*line->error);
    worst = std::max(worst, std::abs(*line->error));
  }
  if (compared == 0) return bad(folder, "no run in it can be compared with its prediction");
  return fmt::format(
      "`plimsoll run --backend cuda` on a GPU ({}; its README tells of the machine), foretold from the warm-up's plan: mean error of the step time {:.1f} %, worst {:.1f} %.\n\n"
      "| run | plan | predicted | measured | error |\n|---|---|---:|---:|---:|\n{}",
      folder, 100 * sum / compared, 100 * worst, rows);
}

}  // namespace plimsoll
