#include "cli/print/print_schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "formats/schedules/action_text.h"
#include "formats/text/json_text.h"
#include "sim/schedule/draw_schedule.h"

namespace plimsoll {
namespace {

constexpr std::size_t kDrawingColumns = 120;

std::string json_order(const std::vector<PipelineOp>& order) {
  return order.empty() ? "[]" : fmt::format("[\"{}\"]", fmt::join(action_texts(order), "\",\""));
}

std::string json_moves(const std::vector<StashMove>& moves) {
  std::vector<std::string> items;
  for (const StashMove& move : moves) {
    items.push_back(JsonLine()
                        .text("after", to_text(move.after))
                        .integer("from", move.from.index)
                        .integer("to", move.to.index)
                        .str());
  }
  return json_list(items);
}

template <typename Values>
std::string json_numbers(const Values& values) {
  std::vector<std::string> items;
  for (const auto value : values) items.push_back(json_number(static_cast<double>(value)));
  return json_list(items);
}

std::string spaced(const std::vector<double>& numbers) {
  std::string text;
  for (const double number : numbers) text += fmt::format("{}{:g}", text.empty() ? "" : " ", number);
  return text;
}

}  // namespace

TimedSchedule time_and_weigh(PipelineSchedule schedule, StageCosts costs, double kept_for_weights) {
  TimedSchedule timed;
  timed.schedule = std::move(schedule);
  timed.costs = std::move(costs);
  timed.timing = time_schedule(timed.schedule, timed.costs);
  timed.peak_activations = peak_activations(timed.schedule, timed.timing, kept_for_weights);
  timed.weight_versions = weight_versions(timed.schedule);
  timed.weight_copies = weight_copies(timed.schedule);
  return timed;
}

std::string schedule_json(const TimedSchedule& timed, const std::string& refusal) {
  std::vector<std::string> orders;
  for (const auto& order : timed.schedule.orders) orders.push_back(json_order(order));
  JsonLine answer;
  answer.integer("format_version", 1)
      .text("name", timed.schedule.name)
      .integer("stages", static_cast<std::int64_t>(timed.schedule.ranks_of_model()))
      .integer("virtual_stages", timed.schedule.stages)
      .integer("micro_batches", timed.schedule.micro_batches)
      .raw("orders", json_lines(orders, 0))
      .number("makespan", timed.costs.units(timed.timing.makespan))
      .number("bubble_fraction", timed.timing.bubble_fraction())
      .number("bubble_rate", timed.timing.bubble_rate())
      .raw("peak_activations", json_numbers(timed.peak_activations))
      .raw("weight_versions", json_numbers(timed.weight_versions))
      .raw("weight_copies", json_numbers(timed.weight_copies))
      .text("weights", to_text(timed.schedule.weights));
  if (timed.schedule.goes_round()) answer.raw("stage_replicas", json_numbers(timed.schedule.replicas));
  if (!timed.schedule.moves.empty()) answer.raw("moves", json_moves(timed.schedule.moves));
  if (!refusal.empty()) answer.raw("error", refusal);
  return answer.str() + "\n";
}

std::string schedule_text(const TimedSchedule& timed) {
  const PipelineSchedule& schedule = timed.schedule;
  const ScheduleTiming& timing = timed.timing;
  const std::string round =
      schedule.goes_round() ? fmt::format(" on {} ranks each", fmt::join(schedule.replicas, ",")) : "";
  std::string text = fmt::format("{}: {} ranks, {} stages{}, {} micro-batches\n", schedule.name, schedule.ranks(),
                                 schedule.stages, round, schedule.micro_batches);
  text += draw_text(schedule, timing, kDrawingColumns);
  text += fmt::format("  makespan {:g}, idle {:.2f} % of it; bubble rate {:.4f} of the longest rank\n",
                      timed.costs.units(timing.makespan), 100 * timing.bubble_fraction(), timing.bubble_rate());
  text += fmt::format("  activations at most  {} (micro-batches of a full rank, by rank)\n",
                      spaced(timed.peak_activations));
  text += fmt::format("  weight versions      {}\n", fmt::join(timed.weight_versions, " "));
  if (!schedule.moves.empty()) text += fmt::format("  {} activations wait on another rank\n", schedule.moves.size());
  return text;
}

}  // namespace plimsoll
