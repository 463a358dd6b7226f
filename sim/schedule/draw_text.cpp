#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/schedule/draw_schedule.h"

namespace plimsoll {
namespace {

/// "F3", or "f3" for a stage after the rank's first.
std::string label_of(const PipelineOp& op, StageId first) {
  const char letter = letter_of(op.work);
  return fmt::format("{}{}", op.stage == first ? letter : static_cast<char>(letter - 'A' + 'a'), op.micro_batch.index);
}

/// The place of a time on the line.
std::size_t column_of(Ticks time, double columns_per_tick) {
  return static_cast<std::size_t>(std::llround(static_cast<double>(time.count) * columns_per_tick));
}

/// Columns that a tick needs so that the shortest op has room for the longest label.
double labelled_scale(const PipelineSchedule& schedule, const ScheduleTiming& timing) {
  const std::size_t label = 1 + fmt::format("{}", schedule.micro_batches - 1).size();
  std::int64_t shortest = timing.makespan.count;
  for (const auto& times : timing.ops) {
    for (const OpTime& time : times) {
      if (time.end > time.begin) shortest = std::min(shortest, (time.end - time.begin).count);
    }
  }
  return static_cast<double>(label) / static_cast<double>(std::max<std::int64_t>(shortest, 1));
}

std::string labelled_line(const std::vector<PipelineOp>& order, const std::vector<OpTime>& times, double scale,
                          std::size_t columns) {
  std::string line(columns, '.');
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t begin = column_of(times[i].begin, scale);
    const std::size_t end = std::min(column_of(times[i].end, scale), columns);
    if (begin >= end) continue;
    const bool paired = i > 0 && order[i - 1].with_next;  // the second half of the room that both share
    const std::size_t from = paired ? begin + (end - begin + 1) / 2 : begin;
    const std::string label = label_of(order[i], order[0].stage).substr(0, end - from);
    line.replace(from, end - from, end - from, '-');
    line.replace(from, label.size(), label);
  }
  return line;
}

std::string sampled_line(const std::vector<PipelineOp>& order, const std::vector<OpTime>& times, double scale,
                         std::size_t columns) {
  std::string line(columns, '.');
  std::size_t op = 0;
  for (std::size_t column = 0; column < columns; ++column) {
    const double middle = (static_cast<double>(column) + 0.5) / scale;
    while (op < order.size() && static_cast<double>(times[op].end.count) <= middle) ++op;
    if (op < order.size() && static_cast<double>(times[op].begin.count) <= middle) {
      line[column] = label_of(order[op], order[0].stage)[0];
    }
  }
  return line;
}

}  // namespace

std::string draw_text(const PipelineSchedule& schedule, const ScheduleTiming& timing, std::size_t columns) {
  if (timing.makespan.count == 0) return {};
  const double with_labels = labelled_scale(schedule, timing);
  const bool labelled = with_labels * static_cast<double>(timing.makespan.count) <= static_cast<double>(columns);
  const double scale =
      labelled ? with_labels : static_cast<double>(columns) / static_cast<double>(timing.makespan.count);
  const std::size_t width = std::max<std::size_t>(column_of(timing.makespan, scale), 1);
  std::string text;
  for (std::size_t rank = 0; rank < schedule.ranks(); ++rank) {
    const auto& order = schedule.orders[rank];
    const auto& times = timing.ops[rank];
    text +=
        fmt::format("  {:>3} {}\n", rank,
                    labelled ? labelled_line(order, times, scale, width) : sampled_line(order, times, scale, width));
  }
  return text;
}

}  // namespace plimsoll
