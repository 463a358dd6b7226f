#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <sstream>

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
    {"interleaved_1f1b", "interleaved"},
    {"looped_bfs(LIFO backward, pytorch)", "looped-bfs"},
    {"zb_h1", "zb-h1"},
    {"zb_h2", "zb-h2"},
    {"zbv(pytorch handcrafted)", "zb-v"},
    {"v_half(sail greedy)", "v-half"},
    {"v_min(sail greedy)", "v-min"},
    {"dualpipev(F then B sequential, no overlap)", "dualpipe-v"},
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

/// V-Half and V-Min are derived from what their paper asks of a building block. That gives other orders than the golden ones,
/// with the same bubbles and peaks once the batch fills the pipeline, and shorter ones before.
bool has_own_order(const ScheduleRequest& request) { return request.name == "v-half" || request.name == "v-min"; }

double largest_of(const std::vector<double>& values) { return *std::max_element(values.begin(), values.end()); }

/// The largest number of "2 3 3 2".
double largest_of(const std::string& numbers) {
  std::istringstream text(numbers);
  return largest_of(std::vector<double>(std::istream_iterator<double>(text), {}));
}

/// Six significant digits, as the golden rows are written.
std::string digits(double value) { return fmt::format("{:.6g}", value); }

std::string digits(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += (text.empty() ? "" : " ") + digits(value);
  return text;
}

/// "d:0F0 u:3F0": ops of two directions, each of which counts its micro-batches from 0; `half` go down.
std::string directed_text(const std::vector<PipelineOp>& order, std::uint32_t half) {
  std::string text;
  for (PipelineOp op : order) {
    const bool up = op.micro_batch.index >= half;
    op.micro_batch = MicroBatchId(op.micro_batch.index - (up ? half : 0));
    text += (text.empty() ? "" : " ") + std::string(up ? "u:" : "d:") + to_text(op);
  }
  return text;
}

}  // namespace

TEST_CASE("the orders at 4 ranks and 8 micro-batches are the published ones") {
  const CsvTable table = golden("op_orders_p4_m8.csv");
  for (const CsvRow& row : table.rows) {
    CsvFields fields(table, row);
    const auto request = request_of(fields);
    if (!request || has_own_order(*request)) continue;
    const auto rank = static_cast<std::size_t>(fields.number("rank"));
    INFO(table.place(row) << " " << request->name);
    CHECK(order_text(made(*request).schedule.orders[rank]) == fields.text(table.header.back()));
  }
}

TEST_CASE("chimera's and overlapped dualpipe-v's orders are the published ones") {
  const CsvTable table = golden("op_orders_chimera_dualpipev.csv");
  for (const CsvRow& row : table.rows) {
    CsvFields fields(table, row);
    const bool chimera = fields.text("schedule") == "chimera";
    ScheduleRequest request{.name = chimera ? "chimera" : "dualpipe-v", .overlapped = true};
    request.ranks = static_cast<std::uint32_t>(fields.number("p"));
    request.micro_batches = static_cast<std::uint32_t>(fields.number("m"));
    const Made ours = made(request);
    const auto& order = ours.schedule.orders[static_cast<std::size_t>(fields.number("rank"))];
    INFO(table.place(row));
    CHECK((chimera ? directed_text(order, request.micro_batches / 2) : order_text(order)) == fields.text("ops"));
  }
}

TEST_CASE("bubbles and peaks of the V schedules at 2 to 20 ranks are the golden ones") {
  const std::map<std::string, std::string> names{{"v_half", "v-half"}, {"v_min", "v-min"}, {"v_zb", "zb-v"}};
  const CsvTable table = golden("v_half_v_min_p2_20.csv");
  for (const CsvRow& row : table.rows) {
    CsvFields fields(table, row);
    ScheduleRequest request{.name = names.at(fields.text("schedule"))};
    request.ranks = static_cast<std::uint32_t>(fields.number("p"));
    request.micro_batches = static_cast<std::uint32_t>(fields.number("m"));
    INFO(table.place(row));
    const Made ours = made(request);
    CHECK(digits(ours.span() - 3 * request.micro_batches) == fields.text("bubble_units_TF=TI=TW=1"));
    const auto peaks = peak_activations(ours.schedule, ours.timing);
    CHECK(digits(largest_of(peaks)) == fields.text("peak_act_W_frees_all"));
  }
}

TEST_CASE("v-half and v-min have the golden bubbles and peaks at unit costs, or smaller ones in batches that never fill") {
  const CsvTable table = golden("unit_cost_golden.csv");
  std::size_t rows = 0;
  for (const CsvRow& row : table.rows) {
    CsvFields fields(table, row);
    const auto request = request_of(fields);
    if (!request || !has_own_order(*request)) continue;
    ++rows;
    INFO(table.place(row) << " " << request->name);
    const Made unit = made(*request);
    const double bubble = unit.span() - 3 * request->micro_batches;
    if (request->micro_batches >= 2 * request->ranks) CHECK(bubble == fields.number("bubble_units"));
    CHECK(bubble <= fields.number("bubble_units"));
    ScheduleRequest with_hops = *request;
    with_hops.costs.hop = 0.1;
    if (request->micro_batches >= 2 * request->ranks) {
      CHECK(made(with_hops).span() <= fields.number("max_stage_span_C0.1") * (1 + 1e-9));
    }
    const auto peaks = peak_activations(unit.schedule, unit.timing);
    CHECK(largest_of(peaks) == largest_of(fields.text("peak_act_per_rank(W frees all)")));
    CHECK(largest_of(peak_activations(unit.schedule, unit.timing, 0)) <=
          largest_of(fields.text("peak_act_per_rank(B frees all)")));
  }
  CHECK(rows == 12);
}

TEST_CASE("bubble rates from published op times are the published ones to four decimals, auto's never above") {
  const CsvTable table = golden("zero_bubble_tables_4_5_6.csv");
  const auto decimals = [](double rate) { return fmt::format("{:.4f}", rate); };
  for (const CsvRow& row : table.rows) {
    CsvFields fields(table, row);
    ScheduleRequest request;
    request.ranks = static_cast<std::uint32_t>(fields.number("p"));
    request.micro_batches = static_cast<std::uint32_t>(fields.number("m"));
    request.costs = {fields.number("T_F_ms"), fields.number("T_B_ms"), fields.number("T_W_ms"),
                     fields.number("T_comm_ms")};
    // Bytes of a layer and token: 34h + 5as from F to I, of which 32h stay until W.
    const double held = 34 * fields.number("hidden") + 5 * fields.number("heads") * fields.number("seq");
    request.kept_for_weights = 32 * fields.number("hidden") / held;
    const auto rate = [&](const char* name, std::optional<double> cap = std::nullopt) {
      request.name = name;
      request.memory_cap = cap;
      return made(request).timing.bubble_rate();
    };
    INFO(table.place(row));
    CHECK(decimals(rate("1f1b")) == decimals(fields.number("bubble_1F1B")));
    CHECK(decimals(rate("zb-h1")) == decimals(fields.number("bubble_ZB-H1")));
    CHECK(decimals(rate("zb-h2")) == decimals(fields.number("bubble_ZB-H2")));
    CHECK(decimals(rate("auto", request.ranks)) == decimals(fields.number("bubble_ZB-1p")));
    CHECK(decimals(rate("auto", 2 * request.ranks)) <= decimals(fields.number("bubble_ZB-2p")));
  }
}

TEST_CASE("makespan, span, bubble and peaks at unit costs are the golden ones to the last digit") {
  const CsvTable table = golden("unit_cost_golden.csv");
  for (const CsvRow& row : table.rows) {
    CsvFields fields(table, row);
    auto request = request_of(fields);
    if (!request) continue;
    if (has_own_order(*request)) continue;
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
