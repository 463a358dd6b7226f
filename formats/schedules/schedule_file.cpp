#include "formats/schedules/schedule_file.h"

#include <fmt/format.h>

#include "formats/schedules/action_text.h"
#include "formats/text/json_node.h"
#include "formats/text/parse_json.h"
#include "formats/text/read_text_file.h"

namespace plimsoll {
namespace {

constexpr Bytes kLargestFile{256 * kMiB.count};

/// Takes everything before the next `separator`, and the separator, off the front of `text`.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t at = std::min(text.find(separator), text.size());
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return taken;
}

std::string_view without_quotes(std::string_view cell) {
  const bool quoted = cell.size() >= 2 && cell.front() == '"' && cell.back() == '"';
  return quoted ? cell.substr(1, cell.size() - 2) : cell;
}

Result<std::vector<PipelineOp>> read_row(std::string_view row, const std::string& place) {
  std::vector<PipelineOp> order;
  for (std::size_t cell = 1; !row.empty(); ++cell) {
    const auto appended = append_action(without_quotes(take_until(row, ',')), order);
    if (appended) continue;
    Error error = appended.error();
    error.where = fmt::format("{}, cell {}", place, cell);
    return fail(std::move(error));
  }
  return order;
}

std::vector<PipelineOp> read_json_order(const JsonNode& node) {
  std::vector<PipelineOp> order;
  for (const JsonNode& action : node.elements()) {
    const auto appended = append_action(action.text(), order);
    if (!appended) action.fault(appended.error().what, appended.error().remedy);
  }
  return order;
}

StashMove read_json_move(const JsonNode& node) {
  StashMove move{.from = RankId(node.at("from").index()), .to = RankId(node.at("to").index()), .after = {}};
  const auto op = parse_pipeline_op(node.at("after").text());
  if (!op) node.at("after").fault(op.error().what, op.error().remedy);
  move.after = op.value_or(PipelineOp{});
  return move;
}

}  // namespace

Result<PipelineSchedule> read_schedule_csv(std::string_view text, const std::string& where) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::vector<std::vector<PipelineOp>> orders;
  for (std::size_t line = 1; !text.empty(); ++line) {
    std::string_view row = take_until(text, '\n');
    if (row.ends_with('\r')) row.remove_suffix(1);
    if (row.empty() && text.empty()) break;
    auto order = read_row(row, fmt::format("{}:{}", where, line));
    if (!order) return fail(order.error());
    orders.push_back(std::move(*order));
  }
  return schedule_of_orders(where, std::move(orders));
}

Result<PipelineSchedule> read_schedule_json(std::string_view text, const std::string& where) {
  const auto document = parse_json(text, where);
  if (!document) return fail(document.error());
  JsonFault fault{.where = where, .error = {}};
  const JsonNode root(*document, "", fault);
  std::vector<std::vector<PipelineOp>> orders;
  for (const JsonNode& order : root.at("orders").elements()) orders.push_back(read_json_order(order));
  PipelineSchedule schedule = schedule_of_orders(root.text_or("name", where), std::move(orders));
  schedule.weights = enum_or(root, "weights", WeightRule::kFlush, WeightRule::kDoubleBuffered);
  for (const JsonNode& move : root.elements_of("moves")) schedule.moves.push_back(read_json_move(move));
  if (fault.error) return fail(*fault.error);
  return schedule;
}

Result<PipelineSchedule> read_schedule_file(const std::string& path) {
  const auto text = read_text_file(path, kLargestFile);
  if (!text) return fail(text.error());
  const std::size_t first = text->find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return fail({.kind = ErrorKind::kInput, .what = "an empty file", .where = path, .remedy = {}});
  return text->at(first) == '{' ? read_schedule_json(*text, path) : read_schedule_csv(*text, path);
}

std::string schedule_csv(const PipelineSchedule& schedule) {
  std::string csv;
  for (const auto& order : schedule.orders) {
    csv += fmt::format("{}\n", fmt::join(action_texts(order), ","));
  }
  return csv;
}

}  // namespace plimsoll
