#include "cli/print/validation_csv.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "formats/text/csv.h"

namespace plimsoll {
void print_validation_csv(const std::vector<RowOutcome>& outcomes) {
  fmt::print("place,family,system,model,gpu,measure,published,predicted,error,certain,fully_specified,open,reason\n");
  for (const RowOutcome& outcome : outcomes) {
    const auto& statement = outcome.stated.statement;
    const auto error = outcome.error();
    fmt::print("{},{},{},{},{},{},{},{},{},{},{},{},{}\n", csv_field(outcome.row->place), csv_field(outcome.stated.family),
               csv_field(outcome.row->field("system")), csv_field(outcome.row->field("model")),
               csv_field(statement ? statement->gpu.name : std::string()), statement ? to_text(statement->measure) : "",
               statement ? fmt::format("{}", statement->published) : "",
               outcome.predicted ? fmt::format("{}", *outcome.predicted) : "", error ? fmt::format("{:.5f}", *error) : "",
               outcome.predicted ? fmt::format("{}", outcome.certain) : "", outcome.stated.is_fully_specified(),
               csv_field(fmt::format("{}", fmt::join(outcome.stated.open, "; "))),
               csv_field(outcome.stated.refusals.empty() ? std::string() : outcome.stated.refusals.front()));
  }
}

}  // namespace plimsoll
