#include <fmt/format.h>

#include <algorithm>

#include "sim/schedule/draw_schedule.h"

namespace plimsoll {
namespace {

constexpr double kRowHeight = 28;
constexpr double kLeft = 60;
constexpr double kTop = 30;
constexpr double kLargestWidth = 20000;
constexpr double kNarrowestLabel = 18;

struct Colours {
  const char* first_stage;
  const char* later_stage;
};

Colours colours_of(PipelineWork work) {
  switch (work) {
    case PipelineWork::kForward:
      return {"#8db4e2", "#4f7fbf"};
    case PipelineWork::kBackward:
      return {"#7fbf7f", "#4a944a"};
    case PipelineWork::kInputGradient:
      return {"#b5dfa8", "#7db86c"};
    case PipelineWork::kWeightGradient:
      return {"#f2c078", "#d4923a"};
  }
  return {"#cccccc", "#999999"};
}

/// The shortest time that anything takes.
Ticks shortest_op(const ScheduleTiming& timing) {
  Ticks shortest = timing.makespan;
  for (const auto& times : timing.ops) {
    for (const OpTime& time : times) {
      if (time.end > time.begin) shortest = std::min(shortest, time.end - time.begin);
    }
  }
  return shortest;
}

/// An op as a rectangle with its name; of an overlapped pair, the forward above and the backward below.
std::string rectangle(const PipelineSchedule& schedule, std::size_t rank, std::size_t i, const OpTime& time,
                      double scale) {
  const auto& order = schedule.orders[rank];
  const PipelineOp& op = order[i];
  const bool lower = i > 0 && order[i - 1].with_next;
  const double height = (op.with_next || lower ? 0.5 : 1) * (kRowHeight - 4);
  const double x = kLeft + static_cast<double>(time.begin.count) * scale;
  const double y = kTop + kRowHeight * static_cast<double>(rank) + (lower ? height : 0);
  const double width = static_cast<double>((time.end - time.begin).count) * scale;
  const Colours colours = colours_of(op.work);
  std::string svg = fmt::format(
      "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\" stroke=\"#ffffff\" "
      "stroke-width=\"0.5\"><title>{}</title></rect>\n",
      x, y, width, height, op.stage == order[0].stage ? colours.first_stage : colours.later_stage, to_text(op));
  if (width >= kNarrowestLabel) {
    svg += fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\" text-anchor=\"middle\">{}{}</text>\n", x + width / 2,
                       y + height / 2 + 4, letter_of(op.work), op.micro_batch.index);
  }
  return svg;
}

}  // namespace

std::string draw_svg(const PipelineSchedule& schedule, const StageCosts& costs, const ScheduleTiming& timing) {
  const double makespan = static_cast<double>(std::max<std::int64_t>(timing.makespan.count, 1));
  const double shortest = static_cast<double>(std::max<std::int64_t>(shortest_op(timing).count, 1));
  const double scale = std::min(kNarrowestLabel * 1.4 / shortest, kLargestWidth / makespan);
  const double width = kLeft + makespan * scale + 10;
  const double height = kTop + kRowHeight * static_cast<double>(schedule.ranks()) + 10;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" font-family=\"sans-serif\" "
      "font-size=\"11\">\n<text x=\"4\" y=\"18\">{} ranks, {} micro-batches, makespan {:g}, bubble rate "
      "{:.4f}</text>\n",
      width, height, schedule.ranks(), schedule.micro_batches, costs.units(timing.makespan), timing.bubble_rate());
  for (std::size_t rank = 0; rank < schedule.ranks(); ++rank) {
    svg += fmt::format("<text x=\"4\" y=\"{:.2f}\">rank {}</text>\n",
                       kTop + kRowHeight * static_cast<double>(rank) + 16, rank);
    for (std::size_t i = 0; i < schedule.orders[rank].size(); ++i) {
      svg += rectangle(schedule, rank, i, timing.ops[rank][i], scale);
    }
  }
  return svg + "</svg>\n";
}

}  // namespace plimsoll
