#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <map>

#include "formats/text/csv.h"
#include "formats/text/read_text_file.h"
#include "tests/sim/schedule/made.h"

namespace plimsoll::test {
namespace {

CsvTable golden(const std::string& file) {
  const std::string path = std::string(PLIMSOLL_SCHEDULE_DATA) + "/" + file;
  return read_csv(read_text_file(path, kMiB).value(), file).value();
}

/// Our name of a golden schedule.
const std::map<std::string, std::string> kNames{
    {"gpipe", "gpipe"},
    {"1f1b", "1f1b"},
};

/// The request of a golden row, if its schedule has a name with us.
std::optional<ScheduleRequest> request_of(CsvFields& row) {
  const auto name = kNames.find(row.text("schedule"));
  if (name == kNames.end()) return std::nullopt;
  ScheduleRequest request{.name = name->second};
  request.ranks = static_cast<std::uint32_t>(row.number("p"));
  request.micro_batches = static_cast<std::uint32_t>(row.number("m"));
  request.chunks = static_cast<std::uint32_t>(row.number("v"));
  return request;
}

/// Six significant digits, as the golden rows are written.
std::string digits(double value) { return fmt::format("{:.6g}", value); }

std::string digits(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += (text.empty() ? "" : " ") + digits(value);
  return text;
}

}  // namespace

TEST_CASE("the orders at 4 ranks and 8 micro-batches are the published ones") {
  const CsvTable table = golden("op_orders_p4_m8.csv");
  for (const CsvRow& row : table.rows) {
    CsvFields fields(table, row);
    const auto request = request_of(fields);
    if (!request) continue;
    const auto rank = static_cast<std::size_t>(fields.number("rank"));
    INFO(table.place(row) << " " << request->name);
    CHECK(order_text(made(*request).schedule.orders[rank]) == fields.text(table.header.back()));
  }
}

TEST_CASE("makespan, span, bubble and peaks at unit costs are the golden ones to the last digit") {
  const CsvTable table = golden("unit_cost_golden.csv");
  for (const CsvRow& row : table.rows) {
    CsvFields fields(table, row);
    auto request = request_of(fields);
    if (!request) continue;
    INFO(table.place(row) << " " << request->name);
    const Made unit = made(*request);
    CHECK(digits(unit.makespan()) == fields.text("makespan_C0"));
    CHECK(digits(unit.span()) == fields.text("max_stage_span_C0"));
    CHECK(digits(unit.span() - 3 * request->micro_batches) == fields.text("bubble_units"));
    CHECK(digits(unit.timing.bubble_rate()) == fields.text("bubble_rate"));
    CHECK(digits(peak_activations(unit.schedule, unit.timing, 0)) == fields.text("peak_act_per_rank(B frees all)"));
    CHECK(digits(peak_activations(unit.schedule, unit.timing, 1)) == fields.text("peak_act_per_rank(W frees all)"));
    request->costs.hop = 0.1;
    const Made hops = made(*request);
    CHECK(digits(hops.makespan()) == fields.text("makespan_C0.1"));
    CHECK(digits(hops.span()) == fields.text("max_stage_span_C0.1"));
  }
}

}  // namespace plimsoll::test
