#include "cli/print_schedule.h"

#include <fmt/format.h>

#include "formats/text/json_text.h"

namespace plimsoll {
namespace {

std::string json_order(const std::vector<PipelineOp>& order) {
  std::string text = "[";
  for (const PipelineOp& op : order)
    fmt::format_to(std::back_inserter(text), "{}\"{}\"", text.size() > 1 ? "," : "", to_text(op));
  return text + "]";
}

template <typename Values>
std::string json_numbers(const Values& values) {
  std::vector<std::string> items;
  for (const auto value : values) items.push_back(json_number(static_cast<double>(value)));
  return json_list(items);
}

}  // namespace

TimedSchedule time_and_weigh(PipelineSchedule schedule, StageCosts costs, double kept_for_weights) {
  TimedSchedule timed;
  timed.schedule = std::move(schedule);
  timed.costs = std::move(costs);
  timed.timing = time_schedule(timed.schedule, timed.costs);
  timed.peak_activations = peak_activations(timed.schedule, timed.timing, kept_for_weights);
  timed.weight_versions = weight_versions(timed.schedule);
  return timed;
}

std::string schedule_json(const TimedSchedule& timed) {
  std::vector<std::string> orders;
  for (const auto& order : timed.schedule.orders) orders.push_back(json_order(order));
  JsonLine answer;
  answer.integer("format_version", 1)
      .text("name", timed.schedule.name)
      .integer("stages", timed.schedule.stages)
      .integer("micro_batches", timed.schedule.micro_batches)
      .raw("orders", json_lines(orders, 0))
      .number("makespan", timed.costs.units(timed.timing.makespan))
      .number("bubble_fraction", timed.timing.bubble_fraction())
      .number("bubble_rate", timed.timing.bubble_rate())
      .raw("peak_activations", json_numbers(timed.peak_activations))
      .raw("weight_versions", json_numbers(timed.weight_versions));
  return answer.str() + "\n";
}

std::string schedule_text(const TimedSchedule& timed) {
  const ScheduleTiming& timing = timed.timing;
  std::string text = fmt::format("{}: {} ranks, {} stages, {} micro-batches\n", timed.schedule.name,
                                 timed.schedule.ranks(), timed.schedule.stages, timed.schedule.micro_batches);
  for (std::size_t rank = 0; rank < timed.schedule.ranks(); ++rank) {
    text += fmt::format("  rank {:<3}", rank);
    for (const PipelineOp& op : timed.schedule.orders[rank]) text += " " + to_text(op);
    text += "\n";
  }
  text += fmt::format("  makespan {:g}, idle {:.2f} % of it, bubble rate {:.4f}\n", timed.costs.units(timing.makespan),
                      100 * timing.bubble_fraction(), timing.bubble_rate());
  return text;
}

}  // namespace plimsoll
