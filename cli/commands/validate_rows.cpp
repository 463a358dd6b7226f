#include "cli/commands/validate_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cli/print/print_cross.h"
#include "cli/print/print_inference_rows.h"
#include "cli/print/print_ladders.h"
#include "cli/print/print_operators.h"
#include "cli/print/print_parallel_rows.h"
#include "cli/print/print_validation.h"
#include "cli/print/recorded_runs.h"
#include "cli/print/validation_markdown.h"
#include "formats/published/published_rows.h"
#include "formats/text/read_text_file.h"
#include "sim/validation/predict_row.h"
#include "sim/validation/row_statistics.h"
#include "sim/validation/state_row.h"
#include "sim/validation/validation_targets.h"

namespace plimsoll {
namespace {

constexpr std::string_view kOperatorMetric = "operator";
constexpr std::string_view kInferenceMetric = "inference";
constexpr std::string_view kParallelMetric = "parallel";
constexpr std::string_view kLadderMetric = "ladder";
constexpr Bytes kMostText{std::int64_t{64} << 20};

Result<std::vector<PublishedRow>> read_files(const std::vector<std::string>& files) {
  if (files.empty()) return shipped_published_rows();
  std::vector<PublishedRow> all;
  for (const std::string& file : files) {
    const auto text = read_text_file(file, kMostText);
    if (!text) return fail(text.error());
    auto rows = read_published_rows(*text, file);
    if (!rows) return fail(rows.error());
    if (rows->empty()) return fail({.kind = ErrorKind::kInput, .what = "a header without rows", .where = file, .remedy = {}});
    std::move(rows->begin(), rows->end(), std::back_inserter(all));
  }
  return all;
}

/// Takes the rows of one kind out of `rows`.
std::vector<PublishedRow> take_table(std::vector<PublishedRow>& rows, PublishedTable table) {
  const auto first = std::stable_partition(rows.begin(), rows.end(), [&](const PublishedRow& row) { return row.table != table; });
  std::vector<PublishedRow> taken(std::make_move_iterator(first), std::make_move_iterator(rows.end()));
  rows.erase(first, rows.end());
  return taken;
}

/// Rows of inference: those of the files, or the program's own.
Result<std::vector<PublishedRow>> inference_rows(std::vector<PublishedRow>& rows, const RowFlags& flags) {
  return flags.files.empty() ? shipped_inference_rows() : take_table(rows, PublishedTable::kInference);
}

void print_operators_as(const std::vector<OperatorOutcome>& outcomes, const RowFlags& flags) {
  if (flags.csv) return print_operators_csv(outcomes);
  if (flags.markdown) return print_operators_markdown(outcomes);
  if (!flags.json) return print_operators(outcomes, flags.worst);
  fmt::print("{}\n",
             nlohmann::ordered_json{
                 {"format_version", 1}, {"rows", outcomes.size()}, {"operators", operators_json(outcomes, flags.worst)}}
                 .dump());
}

/// Rows of the wanted family and measure; rows that cannot be stated have no measure and stay where none is asked for.
bool is_wanted(const StatedRow& row, const RowFlags& flags) {
  if (!flags.family.empty() && row.family != flags.family) return false;
  return flags.metric.empty() || (row.statement && to_text(row.statement->measure) == flags.metric);
}

void keep_wanted(std::vector<PublishedRow>& rows, std::vector<StatedRow>& stated, const RowFlags& flags) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!is_wanted(stated[i], flags)) continue;
    if (i != kept) {
      rows[kept] = std::move(rows[i]);
      stated[kept] = std::move(stated[i]);
    }
    ++kept;
  }
  rows.resize(kept);
  stated.resize(kept);
}

Result<void> check_names(const std::vector<StatedRow>& stated, const RowFlags& flags) {
  if (!flags.metric.empty() && flags.metric != kOperatorMetric && !parse_measure(flags.metric)) {
    return fail({.kind = ErrorKind::kUnknownName,
                 .what = fmt::format("no measure is called '{}'", flags.metric),
                 .where = "--metric",
                 .remedy = "choose one of allocated, reserved, process, device, host, fits, step, cluster step, forward, backward, "
                           "update, largest, ladder, operator, inference, parallel"});
  }
  const bool known =
      std::any_of(stated.begin(), stated.end(), [&](const StatedRow& row) { return row.family == flags.family; });
  if (flags.family.empty() || known) return {};
  return fail({.kind = ErrorKind::kUnknownName,
               .what = fmt::format("no row is of the family '{}'", flags.family),
               .where = "--family",
               .remedy = "plimsoll validate lists the families"});
}

Result<OwnRuns> read_runs(const RowFlags& flags) {
  OwnRuns runs;
  for (const std::string& file : flags.runs) {
    const auto text = read_text_file(file, kMostText);
    if (!text) return fail(text.error());
    auto run = read_stored_accuracy(*text, file);
    if (!run) return fail(run.error());
    runs.stored.push_back(std::move(*run));
  }
  if (flags.recorded.empty()) return runs;
  auto recorded = recorded_runs_markdown(flags.recorded);
  if (!recorded) return fail(recorded.error());
  runs.recorded = std::move(*recorded);
  return runs;
}

Result<void> show(const std::vector<RowOutcome>& outcomes, const LadderReport& ladders, const RowFlags& flags) {
  if (flags.cross) return print_cross(outcomes, flags.json);
  const auto targets = shipped_validation_targets();
  if (!targets) return fail(targets.error());
  auto groups = summarize_rows(outcomes);
  std::ranges::move(summarize_ladders(ladders.ladders), std::back_inserter(groups));
  const auto results = judge_targets(*targets, groups);
  if (flags.markdown) {
    const auto runs = read_runs(flags);
    if (!runs) return fail(runs.error());
    fmt::print("{}", validation_markdown(outcomes, ladders.ladders, results, *runs));
    return {};
  }
  print_validation(outcomes, ladders, results, flags);
  return {};
}

}  // namespace

namespace {

/// Ladders among the rows, of the wanted family; none where another measure is asked for.
Result<LadderReport> ladders_of(const std::vector<PublishedRow>& rows, const RowFlags& flags) {
  if (!flags.metric.empty() && flags.metric != kLadderMetric) return LadderReport{};
  const auto rules = shipped_ladder_rules();
  if (!rules) return fail(rules.error());
  return judge_ladders(rows, *rules, flags.family);
}

void print_ladders_as(const LadderReport& report, const RowFlags& flags) {
  if (flags.csv) return print_ladders_csv(report);
  if (!flags.json) return print_ladders(report);
  fmt::print("{}\n", nlohmann::ordered_json{{"format_version", 1}, {"ladders", ladders_json(report)}}.dump());
}

/// Steps of many devices: rows of the files, or the program's own.
Result<ExitCode> validate_parallel(const RowFlags& flags) {
  auto rows = flags.files.empty() ? shipped_parallel_rows() : read_files(flags.files);
  if (!rows) return fail(rows.error());
  const auto rules = shipped_parallel_rules();
  if (!rules) return fail(rules.error());
  const std::vector<PublishedRow> own = take_table(*rows, PublishedTable::kParallel);
  auto outcomes = judge_parallel(own, *rules);
  const auto of_others = [&](const ParallelOutcome& outcome) { return outcome.family != flags.family; };
  if (!flags.family.empty()) std::erase_if(outcomes, of_others);
  print_parallel_rows(outcomes, flags.worst, flags.json, flags.csv);
  return ExitCode::kDone;
}

}  // namespace

Result<ExitCode> validate_rows(const RowFlags& flags) {
  if (flags.metric == kParallelMetric) return validate_parallel(flags);
  auto rows = read_files(flags.files);
  if (!rows) return fail(rows.error());
  const auto lexicon = shipped_lexicon();
  if (!lexicon) return fail(lexicon.error());
  const auto inference = inference_rows(*rows, flags);
  if (!inference) return fail(inference.error());
  const std::vector<PublishedRow> operators = take_table(*rows, PublishedTable::kOperators);
  if (flags.metric == kInferenceMetric || (rows->empty() && operators.empty() && !inference->empty())) {
    print_inference_rows(judge_inference(*inference), flags.json, flags.csv);
    return ExitCode::kDone;
  }
  const bool operators_alone = flags.metric == kOperatorMetric || (rows->empty() && !operators.empty());
  if (operators_alone) {
    print_operators_as(judge_operators(operators, *lexicon), flags);
    return ExitCode::kDone;
  }
  const auto ladders = ladders_of(*rows, flags);
  if (!ladders) return fail(ladders.error());
  if (flags.metric == kLadderMetric) {
    print_ladders_as(*ladders, flags);
    return ExitCode::kDone;
  }
  std::vector<StatedRow> stated;
  for (const PublishedRow& row : *rows) stated.push_back(state_row(row, *lexicon));
  if (auto known = check_names(stated, flags); !known) return fail(known.error());
  keep_wanted(*rows, stated, flags);
  if (auto shown = show(judge_rows(*rows, stated, predict_row), *ladders, flags); !shown) return fail(shown.error());
  const bool everything = flags.metric.empty() && flags.family.empty() && !flags.csv && !flags.json && !flags.cross;
  if (everything && !operators.empty()) print_operators_as(judge_operators(operators, *lexicon), flags);
  if (everything && !flags.markdown && !inference->empty()) print_inference_rows(judge_inference(*inference), false, false);
  return ExitCode::kDone;
}

}  // namespace plimsoll
