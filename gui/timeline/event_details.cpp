#include "gui/timeline/event_details.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/plans/instruction_text.h"
#include "gui/language/say.h"
#include "gui/timeline/time_ticks.h"
#include "gui/timeline/work_colours.h"

namespace plimsoll::gui {
namespace {

QString text(const std::string& words) { return QString::fromStdString(words); }

/// The sizes of a kernel that are set: "rows 1024 · inputs 1600 · outputs 6400".
QString shape_text(const Kernel& kernel) {
  const OpShape& shape = kernel.shape;
  const std::pair<const char*, std::int64_t> sizes[] = {{"rows", shape.rows},       {"inputs", shape.inputs},
                                                        {"outputs", shape.outputs}, {"heads", shape.heads},
                                                        {"head", shape.head_dim},   {"sequence", shape.sequence}};
  std::string words(to_text(kernel.dtype));
  for (const auto& [name, size] : sizes) {
    if (size > 0) words += fmt::format(" · {} {}", name, size);
  }
  return text(words);
}

/// The links' ends of a transfer.
std::optional<LinkId> link_of(const Timeline& timeline, const Instruction& instruction) {
  const auto uses = timeline.body.uses(instruction);
  if (uses.size() < 2) return std::nullopt;
  const auto space = [&](const Use& use) { return timeline.plan->buffers[use.target].space; };
  return timeline.plan->platform.link(space(uses[0]), space(uses[1]));
}

std::optional<Cost> cost_alone(const Timeline& timeline, const Instruction& instruction, const CostModel& model) {
  const Platform& platform = timeline.plan->platform;
  const Processor& processor = platform.at(platform.at(instruction.queue).processor);
  Result<Cost> cost = fail({});
  if (instruction.kind == InstructionKind::kLaunch) {
    cost = model.kernel(processor, timeline.plan->at(instruction.kernel));
  } else if (instruction.kind == InstructionKind::kHostWork) {
    cost = model.host_work(processor, instruction.task, bytes_touched(timeline.body, instruction));
  } else if (const auto link = link_of(timeline, instruction)) {
    cost = model.transfer(platform, platform.at(*link), bytes_touched(timeline.body, instruction));
  }
  if (!cost) return std::nullopt;
  return *cost;
}

QString origin_text(CostOrigin origin) {
  switch (origin) {
    case CostOrigin::kMeasured: return say("measured on this machine");
    case CostOrigin::kCatalogue: return say("catalogue: published for this hardware");
    case CostOrigin::kExtrapolated: return say("extrapolated from similar hardware");
  }
  return {};
}

void add_cost(std::vector<DetailLine>& lines, const Timeline& timeline, const LaneEvent& event, const CostSource& costs) {
  if (timeline.kind == TraceKind::kMeasured) {
    lines.push_back({say("Cost"), say("measured: %1").arg(text(timeline.source))});
    return;
  }
  const Instruction& instruction = timeline.body.list.instructions[event.label];
  const auto cost = costs.model == nullptr ? std::nullopt : cost_alone(timeline, instruction, *costs.model);
  if (!cost) {
    lines.push_back({say("Cost"), costs.words});
    return;
  }
  const auto shown = [](Nanoseconds time) { return text(duration_text(static_cast<double>(time.count))); };
  lines.push_back({say("Alone"), say("%1 (%2 to %3)").arg(shown(cost->median), shown(cost->low), shown(cost->high))});
  const std::int64_t more = event.end - event.start - cost->median.count;
  if (more > cost->median.count / 100) {
    lines.push_back({say("Slowed"), say("%1 by what shares memory, links or cores").arg(shown(Nanoseconds(more)))});
  }
  lines.push_back({say("Cost"), origin_text(cost->origin)});
}

/// The largest buffers that it touches.
QString operands_text(const Timeline& timeline, const Instruction& instruction) {
  constexpr std::size_t kShown = 4;
  const auto uses = timeline.body.uses(instruction);
  std::vector<Use> largest(uses.begin(), uses.end());
  std::stable_sort(largest.begin(), largest.end(), [](const Use& a, const Use& b) { return a.bytes > b.bytes; });
  QStringList words;
  for (std::size_t i = 0; i < std::min(kShown, largest.size()); ++i) {
    const Buffer& buffer = timeline.plan->buffers[largest[i].target];
    const char* mark = !writes(largest[i].access) ? "r" : reads(largest[i].access) ? "rw" : "w";
    words += text(fmt::format("{} {} {}", mark, buffer.name, to_text(largest[i].bytes)));
  }
  if (largest.size() > kShown) words += say("and %1 more").arg(largest.size() - kShown);
  return words.join(QStringLiteral("<br>"));
}

}  // namespace

std::vector<DetailLine> event_details(const Timeline& timeline, const EventRef& ref, const CostSource& costs) {
  const LaneEvent event = event_at(timeline, ref);
  const StepMark* step = timeline.step(event.step);
  std::vector<DetailLine> lines;
  const auto number = [](auto n) { return QString::number(n); };
  lines.push_back({say("Duration"), text(duration_text(static_cast<double>(event.end - event.start)))});
  const double since = static_cast<double>(event.start - (step == nullptr ? 0 : step->begin));
  lines.push_back({say("Starts"), say("%1 into step %2").arg(text(duration_text(since))).arg(event.step)});
  lines.push_back({say("Queue"), track_name(timeline.plan.get(), timeline.tracks[ref.track].name)});
  lines.push_back({say("Kind"), work_name(work_of_paint(timeline.labels[event.label].paint))});
  if (timeline.plan == nullptr || event.label >= timeline.body.size()) return lines;
  const Instruction& instruction = timeline.body.list.instructions[event.label];
  lines.push_back({say("Instruction"), QStringLiteral("#") + number(event.label)});
  if (instruction.layer >= 0) lines.push_back({say("Layer"), number(instruction.layer)});
  lines.push_back({say("Micro-batch"), number(timeline.body.micro_batches[event.label])});
  if (instruction.kind == InstructionKind::kLaunch)
    lines.push_back({say("Shape"), shape_text(timeline.plan->at(instruction.kernel))});
  lines.push_back({say("Touches"), text(to_text(bytes_touched(timeline.body, instruction)))});
  if (instruction.use_count > 0) lines.push_back({say("Buffers"), operands_text(timeline, instruction)});
  add_cost(lines, timeline, event, costs);
  return lines;
}

QString event_title(const Timeline& timeline, const EventRef& ref) {
  const LaneEvent event = event_at(timeline, ref);
  QString title = text(timeline.name_of(event.label));
  if (event.label < timeline.body.size()) {
    const std::int32_t layer = timeline.body.list.instructions[event.label].layer;
    if (layer >= 0) title += say(" · layer %1").arg(layer);
  }
  return title;
}

}  // namespace plimsoll::gui
