#include "cli/print/print_parallel_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "formats/text/csv.h"
#include "formats/text/json_text.h"

namespace plimsoll {
namespace {

std::vector<const ParallelOutcome*> worst_first(const std::vector<ParallelOutcome>& outcomes) {
  std::vector<const ParallelOutcome*> sorted;
  for (const ParallelOutcome& outcome : outcomes) {
    if (outcome.is_predicted()) sorted.push_back(&outcome);
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const ParallelOutcome* a, const ParallelOutcome* b) {
    return std::abs(a->error()) > std::abs(b->error());
  });
  return sorted;
}

std::string errors_line(const std::string& name, const ParallelErrors& e) {
  return fmt::format("{:<26}{:>6}{:>9.2f}{:>9.2f}{:>9.2f}{:>+9.2f}{:>12.2f}{:>9.2f}\n", name, e.rows, 100 * e.mean,
                     100 * e.median, 100 * e.worst, 100 * e.bias, 100 * e.scaled_mean, 100 * e.scaled_worst);
}

void print_lines(const std::vector<ParallelOutcome>& outcomes, std::size_t worst) {
  fmt::print("{:<26}{:>6}{:>9}{:>9}{:>9}{:>9}{:>12}{:>9}\n", "many devices, error in %", "rows", "mean", "median",
             "worst", "bias", "one scalar", "worst");
  for (const std::string& family : parallel_families(outcomes))
    fmt::print("{}", errors_line(family, parallel_errors(outcomes, family)));
  fmt::print("{}", errors_line("all", parallel_errors(outcomes, "")));
  for (const auto& [machine, scalar] : machine_scalars(outcomes)) fmt::print("scalar of {}: {:.3f}\n", machine, scalar);
  const auto sorted = worst_first(outcomes);
  fmt::print("\n{:>10}{:>10}{:>8}{:>8}  {}\n", "published", "predicted", "error", "scaled", "row");
  for (std::size_t i = 0; i < std::min(worst, sorted.size()); ++i) {
    const ParallelOutcome& o = *sorted[i];
    fmt::print("{:>9.2f}s{:>9.2f}s{:>+8.1f}{:>+8.1f}  {} {} B, {} ({})\n", o.published, o.predicted, 100 * o.error(),
               100 * o.scaled_error(), o.family, o.row->field("params_b"), describe(o.layout), o.row->place);
  }
  fmt::print("{} of {} rows are compared; --csv says why the others are not\n", sorted.size(), outcomes.size());
}

void print_table(const std::vector<ParallelOutcome>& outcomes) {
  fmt::print("place,family,machine,layout,published_seconds,predicted_seconds,error,scaled_error,refusal\n");
  for (const ParallelOutcome& o : outcomes) {
    if (!o.is_predicted())
      fmt::print("{},{},{},,,,,,{}\n", o.row->place, csv_field(o.family), csv_field(o.machine), csv_field(o.refusal));
    else
      fmt::print("{},{},{},{},{:.6g},{:.6g},{:.6f},{:.6f},\n", o.row->place, csv_field(o.family), csv_field(o.machine),
                 csv_field(describe(o.layout)), o.published, o.predicted, o.error(), o.scaled_error());
  }
}

std::string errors_json(const std::string& name, const ParallelErrors& e) {
  JsonLine line;
  line.text("family", name)
      .integer("rows", static_cast<std::int64_t>(e.rows))
      .number("mean", e.mean)
      .number("median", e.median)
      .number("worst", e.worst);
  return line.number("bias", e.bias).number("scaled_mean", e.scaled_mean).number("scaled_worst", e.scaled_worst).str();
}

void print_json(const std::vector<ParallelOutcome>& outcomes) {
  std::vector<std::string> families, rows;
  for (const std::string& family : parallel_families(outcomes))
    families.push_back(errors_json(family, parallel_errors(outcomes, family)));
  for (const ParallelOutcome* o : worst_first(outcomes)) {
    rows.push_back(JsonLine()
                       .text("place", o->row->place)
                       .text("family", o->family)
                       .text("layout", describe(o->layout))
                       .number("published_seconds", o->published)
                       .number("predicted_seconds", o->predicted)
                       .number("error", o->error())
                       .number("scaled_error", o->scaled_error())
                       .str());
  }
  fmt::print("{}\n", JsonLine()
                         .integer("format_version", 1)
                         .raw("all", errors_json("all", parallel_errors(outcomes, "")))
                         .raw("families", json_lines(families, 2))
                         .raw("rows", json_lines(rows, 2))
                         .str());
}

}  // namespace

void print_parallel_rows(const std::vector<ParallelOutcome>& outcomes, std::size_t worst, bool json, bool csv) {
  if (csv) return print_table(outcomes);
  if (json) return print_json(outcomes);
  print_lines(outcomes, worst);
}

}  // namespace plimsoll
