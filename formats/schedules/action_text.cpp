#include "formats/schedules/action_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace plimsoll {
namespace {

constexpr std::string_view kOverlap = "OVERLAP_F_B";
constexpr std::string_view kNoCompute[] = {"UNSHARD", "RESHARD",     "SEND_F",      "RECV_F",      "SEND_B",
                                           "RECV_B",  "REDUCE_GRAD", "WAIT_SEND_F", "WAIT_SEND_B", "WAIT_REDUCE_GRAD"};

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

/// "2UNSHARD", "3SEND_F1".
bool is_no_compute(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto name_begin = std::find_if_not(text.begin(), text.end(), is_digit);
  auto name_end = text.end();
  while (name_end != name_begin && is_digit(*(name_end - 1))) --name_end;
  const std::string_view name(name_begin, name_end);
  return name_begin != text.begin() &&
         std::find(std::begin(kNoCompute), std::end(kNoCompute), name) != std::end(kNoCompute);
}

Result<void> append_pair(std::string_view text, std::vector<PipelineOp>& order) {
  const std::size_t middle = text.find(';');
  const std::size_t end = text.find(')');
  if (middle != std::string_view::npos && end != std::string_view::npos && middle < end &&
      text.substr(end + 1) == kOverlap) {
    auto forward = parse_pipeline_op(trimmed(text.substr(1, middle - 1)));
    const auto backward = parse_pipeline_op(trimmed(text.substr(middle + 1, end - middle - 1)));
    if (!forward || !backward) return fail((forward ? backward : forward).error());
    if (forward->work == PipelineWork::kForward && sends_gradient(backward->work)) {
      forward->with_next = true;
      order.push_back(*forward);
      order.push_back(*backward);
      return {};
    }
  }
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("'{}' is no overlapped pair", text.substr(0, 60)),
               .where = {},
               .remedy = "write a forward and a backward, as in (0F7;7B3)OVERLAP_F_B"});
}

}  // namespace

std::vector<std::string> action_texts(const std::vector<PipelineOp>& order) {
  std::vector<std::string> texts;
  texts.reserve(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i].with_next && i + 1 < order.size()) {
      texts.push_back(fmt::format("({};{}){}", to_text(order[i]), to_text(order[i + 1]), kOverlap));
      ++i;
    } else {
      texts.push_back(to_text(order[i]));
    }
  }
  return texts;
}

Result<void> append_action(std::string_view text, std::vector<PipelineOp>& order) {
  text = trimmed(text);
  if (text.empty() || is_no_compute(text)) return {};
  if (text.front() == '(') return append_pair(text, order);
  const auto op = parse_pipeline_op(text);
  if (!op) return fail(op.error());
  order.push_back(*op);
  return {};
}

PipelineSchedule schedule_of_orders(std::string name, std::vector<std::vector<PipelineOp>> orders) {
  PipelineSchedule schedule{.name = std::move(name)};
  for (const auto& order : orders) {
    for (const PipelineOp& op : order) {
      schedule.stages = std::max(schedule.stages, op.stage.index + 1);
      schedule.micro_batches = std::max(schedule.micro_batches, op.micro_batch.index + 1);
    }
  }
  schedule.orders = std::move(orders);
  return schedule;
}

}  // namespace plimsoll
